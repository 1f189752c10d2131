sbx_room(gateway
  SOURCES
    gateway/address.cc
    gateway/client_hello.cc
    gateway/connection.cc
    gateway/context.cc
    gateway/dialer.cc
    gateway/dns_lookup.cc
    gateway/dns_message.cc
    gateway/dns_server.cc
    gateway/gateway.cc
    gateway/name_map.cc
    gateway/records.cc
    gateway/relay.cc
    gateway/resolv_conf.cc
    gateway/resolver.cc
    gateway/rules.cc
  LINK sbx_base sbx_model sbx_profile)
