sbx_test(gateway
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/address_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/client_hello_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/dns_message_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/dns_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/gateway_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/hello.cc
    ${CMAKE_CURRENT_LIST_DIR}/host_server_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/name_map_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/plain_http_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/relay_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/rules_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sni_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/world.cc
    ${PROJECT_SOURCE_DIR}/fuzz/gateway/properties.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_gateway)
