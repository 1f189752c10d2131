sbx_room(rpc
  SOURCES
    rpc/framing.cc
    rpc/params.cc
  LINK sbx_base sbx_profile sbx_policy sbx_output nlohmann_json::nlohmann_json)
