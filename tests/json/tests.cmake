sbx_test(json
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/check_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/codec_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/reader_test.cc
  LINK sbx_all)
