sbx_test(tools SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/decode_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/answer_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/definition_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
  ${PROJECT_SOURCE_DIR}/fuzz/tools/fuzz_tools.cc
  LINK sbx_all)
