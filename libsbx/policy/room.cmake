sbx_room(policy SOURCES policy/policy.cc policy/environment.cc policy/exec_size.cc policy/fields.cc policy/futile_grants.cc policy/git_setting.cc policy/http.cc policy/narrow.cc policy/params.cc policy/request.cc
  LINK sbx_base sbx_json sbx_profile nlohmann_json::nlohmann_json)
