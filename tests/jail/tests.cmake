sbx_test(jail
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/jail_test.cc
  LINK sbx_base sbx_jail)
