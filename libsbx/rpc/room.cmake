sbx_room(rpc
  SOURCES
    rpc/connection.cc
    rpc/dispatcher.cc
    rpc/follower.cc
    rpc/framing.cc
    rpc/json_rpc.cc
    rpc/json_scan.cc
    rpc/method_params.cc
    rpc/methods.cc
    rpc/params.cc
    rpc/server.cc
    rpc/socket_place.cc
    rpc/task_json.cc
  LINK sbx_base sbx_profile sbx_policy sbx_host sbx_plan sbx_output sbx_session sbx_report
  nlohmann_json::nlohmann_json)
