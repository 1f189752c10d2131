sbx_room(rpc
  SOURCES
    rpc/connection.cc
    rpc/framing.cc
    rpc/json_rpc.cc
    rpc/json_scan.cc
    rpc/params.cc
    rpc/server.cc
  LINK sbx_base sbx_profile sbx_policy sbx_output sbx_session sbx_report
  nlohmann_json::nlohmann_json)
