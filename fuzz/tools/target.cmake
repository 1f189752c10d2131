sbx_fuzz(tools SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_tools.cc LINK sbx_all)
