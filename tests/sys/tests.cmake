sbx_test(sys
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/calls_test.cc
  LINK sbx_base)
