sbx_test(session
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/approvals_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/changes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/file_call_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/leftovers_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/logs_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/memory_count_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/redaction_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/remove_tree_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/workspace_files_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/stdin_queue_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/task_output_test.cc
  LINK sbx_all)
sbx_test(session_run
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/run_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/session_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/warm_pool_test.cc
  LINK sbx_all
  BARE_CLONE)
