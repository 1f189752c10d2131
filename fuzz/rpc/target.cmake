sbx_fuzz(json_rpc SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_json_rpc.cc LINK sbx_all)
