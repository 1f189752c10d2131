sbx_test(filter SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/filter_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_emit_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_oracle_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_kernel_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_modes_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/filter_network_test.cc
  ${PROJECT_SOURCE_DIR}/tests/support/bpf_eval.cc
  LINK sbx_all)
sbx_test(plan SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/planner_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/golden_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/check_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/operation_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/sample_plan.cc
  ${PROJECT_SOURCE_DIR}/fuzz/plan/fuzz_plan.cc
  LINK sbx_all)

# A container's filter, for the end-to-end tests of the degraded tiers. Static, like sbx-run.
add_executable(docker_filter ${PROJECT_SOURCE_DIR}/tests/support/docker_filter.c)
target_compile_definitions(docker_filter PRIVATE _GNU_SOURCE)
target_link_options(docker_filter PRIVATE -static)
set_target_properties(docker_filter PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(unit_tests docker_filter)
