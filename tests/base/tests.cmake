sbx_test(base
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/files_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/loop_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/text_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/utf8_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/output/properties.cc
  LINK sbx_all)
