sbx_room(session
  SOURCES
    session/session.cc
    session/stdin_queue.cc
    session/task.cc
    session/task_output.cc
  LINK sbx_base sbx_model sbx_policy sbx_host sbx_output sbx_host_files sbx_run)
