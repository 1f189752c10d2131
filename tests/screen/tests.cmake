sbx_test(screen
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/screen_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/screen/properties.cc
  LINK sbx_screen)
