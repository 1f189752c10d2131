sbx_fuzz(json_rpc SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_json_rpc.cc LINK sbx_all)
sbx_fuzz(params
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_params.cc ${CMAKE_CURRENT_LIST_DIR}/params_property.cc
  LINK sbx_all)
