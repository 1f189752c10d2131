sbx_room(session SOURCES session/approvals.cc session/outcome.cc session/run.cc session/sandbox.cc session/warm_pool.cc session/supervisor.cc session/watch.cc session/memory_count.cc session/apart.cc
  session/refusals.cc session/terminal.cc session/leftovers.cc session/stubs.cc session/remove_tree.cc
  session/changes.cc session/append_file.cc session/places.cc session/redaction.cc session/spill.cc
  session/workspace_files.cc session/session.cc session/stdin_queue.cc session/task.cc
  session/task_output.cc session/network.cc session/connects.cc session/connector.cc session/errand.cc
  session/unix_peers.cc session/inside_paths.cc session/file_reports.cc session/file_call.cc
  session/file_view.cc session/approval_records.cc
  LINK sbx_base sbx_json sbx_profile sbx_policy sbx_guard sbx_host sbx_plan sbx_launch sbx_gateway sbx_output)
