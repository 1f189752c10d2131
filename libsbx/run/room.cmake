sbx_room(run
  SOURCES
    run/answer.cc
    run/fold.cc
    run/git_settings.cc
    run/held_files.cc
    run/http_process.cc
    run/memory_count.cc
    run/missing_programs.cc
    run/network.cc
    run/redaction.cc
    run/run.cc
    run/sandbox.cc
    run/supervisor.cc
    run/terminal.cc
    run/terminal_modes.cc
    run/watch.cc
  LINK sbx_base sbx_kept sbx_json sbx_model sbx_policy sbx_shell sbx_guard sbx_host sbx_plan sbx_launch sbx_gateway sbx_output sbx_trace sbx_connect sbx_host_files)
