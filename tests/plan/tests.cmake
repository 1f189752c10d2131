sbx_test(filter SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/filter_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_emit_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_oracle_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_kernel_test.cc
  ${PROJECT_SOURCE_DIR}/tests/support/bpf_eval.cc
  LINK sbx_all)
sbx_test(plan SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/planner_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/golden_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/check_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/sample_plan.cc
  LINK sbx_all)
