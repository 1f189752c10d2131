sbx_test(base SOURCES ${CMAKE_CURRENT_LIST_DIR}/text_test.cc LINK sbx_all)
