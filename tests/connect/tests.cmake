sbx_test(connect
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/errand_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/unix_peers_test.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_shell sbx_policy sbx_guard sbx_host sbx_plan sbx_launch sbx_gateway sbx_trace sbx_connect)
sbx_test(connect_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/connector_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/connects_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/../trace/filtered.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_shell sbx_policy sbx_guard sbx_host sbx_plan sbx_launch sbx_gateway sbx_trace sbx_connect
  BARE_CLONE)
