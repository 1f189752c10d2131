sbx_room(connect
  SOURCES
    connect/connector.cc
    connect/connects.cc
    connect/errand.cc
    connect/unix_peers.cc
  LINK sbx_base sbx_json sbx_model sbx_policy sbx_guard sbx_launch sbx_gateway sbx_trace)
