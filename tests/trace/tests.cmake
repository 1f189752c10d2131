sbx_test(trace
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/file_call_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/file_view_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/filtered.cc
    ${CMAKE_CURRENT_LIST_DIR}/inside_paths_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/refusals_test.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_shell sbx_policy sbx_guard sbx_host sbx_plan sbx_launch sbx_trace)
sbx_test(trace_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/file_reports_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/filtered.cc
  LINK sbx_base sbx_json sbx_model sbx_profile sbx_shell sbx_policy sbx_guard sbx_host sbx_plan sbx_launch sbx_trace
  BARE_CLONE)
