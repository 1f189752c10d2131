sbx_room(report SOURCES report/json.cc report/json_writer.cc report/result_schema.cc
  LINK sbx_base sbx_profile sbx_output sbx_session)
