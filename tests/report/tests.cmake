sbx_test(report
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/account_test.cc ${CMAKE_CURRENT_LIST_DIR}/json_test.cc ${CMAKE_CURRENT_LIST_DIR}/sample_outcomes.cc
  LINK sbx_all nlohmann_json::nlohmann_json)

add_executable(report_samples ${CMAKE_CURRENT_LIST_DIR}/print_samples.cc
  ${CMAKE_CURRENT_LIST_DIR}/sample_outcomes.cc)
target_link_libraries(report_samples PRIVATE sbx_all)
add_dependencies(unit_tests report_samples)
add_test(NAME report.ResultsValidateAgainstTheSchema
  COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/validate_results.py $<TARGET_FILE:report_samples>)
set_tests_properties(report.ResultsValidateAgainstTheSchema PROPERTIES
  SKIP_RETURN_CODE 77 TIMEOUT 60)
