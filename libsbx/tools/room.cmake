sbx_room(tools
  SOURCES
    tools/bash.cc
    tools/bash_exec.cc
    tools/code_execution.cc
    tools/definitions.cc
    tools/execute_command.cc
    tools/json_text.cc
    tools/params.cc
    tools/result.cc
    tools/shell.cc
    tools/tool.cc
    tools/tool_runner.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_policy sbx_report sbx_session nlohmann_json::nlohmann_json)
