sbx_test(bwrap
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/options_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/plan_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/bwrap/options_fuzz.cc
  LINK sbx_bwrap_rooms)
