sbx_room(gateway
  SOURCES
    gateway/address.cc
  LINK sbx_base sbx_profile)
