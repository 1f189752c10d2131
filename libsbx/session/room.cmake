sbx_room(session
  SOURCES
    session/approval_records.cc
    session/approvals.cc
    session/follower.cc
    session/kept_shell.cc
    session/keys.cc
    session/layer_action.cc
    session/screen_process.cc
    session/service.cc
    session/session.cc
    session/shell_words.cc
    session/stdin_queue.cc
    session/task.cc
    session/task_output.cc
    session/task_terminal.cc
    session/warm_pool.cc
  LINK sbx_base sbx_kept sbx_json sbx_model sbx_policy sbx_guard sbx_host sbx_plan sbx_launch sbx_output sbx_host_files sbx_run sbx_report)
