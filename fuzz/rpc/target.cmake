sbx_fuzz(json_rpc SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_json_rpc.cc LINK sbx_all
  CORPUS corpus OF libsbx/rpc/json_rpc.cc libsbx/rpc/framing.cc)
sbx_fuzz(params
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_params.cc ${CMAKE_CURRENT_LIST_DIR}/params_property.cc
  LINK sbx_all CORPUS params_corpus OF libsbx/policy/params.cc)
