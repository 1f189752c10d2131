foreach(target IN ITEMS dns client_hello plain_http resolv_conf upstream)
  sbx_fuzz(gateway_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all)
endforeach()
