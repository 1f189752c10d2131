sbx_room(trace
  SOURCES
    trace/apart.cc
    trace/file_call.cc
    trace/file_grants.cc
    trace/file_reports.cc
    trace/file_view.cc
    trace/inside_paths.cc
    trace/refusals.cc
  LINK sbx_base sbx_json sbx_model sbx_policy sbx_guard sbx_host sbx_plan)
