sbx_test(learn
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/grants_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/learn/grants_fuzz.cc
  LINK sbx_learn)
