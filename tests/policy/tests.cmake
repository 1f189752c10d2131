sbx_test(policy SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/policy_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/environment_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/exec_size_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/futile_grants_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/narrow_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/params_test.cc
  ${PROJECT_SOURCE_DIR}/fuzz/managed/managed_fuzz.cc
  ${PROJECT_SOURCE_DIR}/fuzz/rpc/params_property.cc
  ${CMAKE_CURRENT_LIST_DIR}/request_test.cc
  LINK sbx_all)
