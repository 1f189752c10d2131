set(of_dns libsbx/gateway/dns_message.cc)
set(of_client_hello libsbx/gateway/client_hello.cc)
set(of_plain_http libsbx/gateway/plain_http.cc)
set(of_resolv_conf libsbx/gateway/resolv_conf.cc)
set(of_upstream libsbx/profile/upstream.cc)
foreach(target IN ITEMS dns client_hello plain_http resolv_conf upstream)
  sbx_fuzz(gateway_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all CORPUS corpus/${target} OF ${of_${target}})
endforeach()
