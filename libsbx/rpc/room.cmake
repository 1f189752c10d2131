sbx_room(rpc
  SOURCES
    rpc/connection.cc
    rpc/dispatcher.cc
    rpc/framing.cc
    rpc/json_rpc.cc
    rpc/layer_patch.cc
    rpc/mcp.cc
    rpc/mcp_layer.cc
    rpc/mcp_message.cc
    rpc/mcp_progress.cc
    rpc/methods.cc
    rpc/server.cc
    rpc/signed_state.cc
    rpc/socket_place.cc
    rpc/task_json.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_policy sbx_session sbx_report sbx_tools nlohmann_json::nlohmann_json)
