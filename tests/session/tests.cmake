sbx_test(session
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/approvals_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/keys_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/shell_process_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/shell_words_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/stdin_queue_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/task_output_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/time_share_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/session/shell_property.cc
  LINK sbx_all)
sbx_test(session_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/service_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/session_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/warm_pool_test.cc
  LINK sbx_all
  BARE_CLONE)
