sbx_test(kept
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/copy_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/records_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/kept/records_fuzz.cc
  LINK sbx_layer_actions)
