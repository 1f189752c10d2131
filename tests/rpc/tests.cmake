sbx_test(rpc
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/dispatcher_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/methods_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/framing_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/json_rpc_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/server_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/socket_place_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/rpc/fuzz_json_rpc.cc
  LINK sbx_all)
