sbx_test(page
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/new_file_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/record_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/summary_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/page/properties.cc
  LINK sbx_page)
