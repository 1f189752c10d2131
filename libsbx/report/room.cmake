sbx_room(report SOURCES report/audit.cc report/audit_log.cc report/events.cc report/json.cc report/json_parts.cc report/judgement.cc report/result_schema.cc
  report/explain.cc
  LINK sbx_base sbx_json sbx_profile sbx_policy sbx_guard sbx_plan sbx_output sbx_session
  nlohmann_json::nlohmann_json fmt::fmt-header-only)
