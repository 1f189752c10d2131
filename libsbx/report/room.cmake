sbx_room(report
  SOURCES
    report/account.cc
    report/audit.cc
    report/audit_log.cc
    report/events.cc
    report/explain.cc
    report/json.cc
    report/json_parts.cc
    report/judgement.cc
    report/result_schema.cc
  LINK sbx_base sbx_json sbx_model sbx_policy sbx_guard sbx_plan sbx_output sbx_host_files nlohmann_json::nlohmann_json fmt::fmt-header-only)
