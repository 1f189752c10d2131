sbx_test(shell
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/reading_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/shell/properties.cc
  LINK sbx_all)
