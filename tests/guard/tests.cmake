sbx_test(guard
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/reading_test.cc
  LINK sbx_all)
