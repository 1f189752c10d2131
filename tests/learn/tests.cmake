sbx_test(learn
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/grants_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/lines_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/learn/grants_fuzz.cc
  LINK sbx_learn)
