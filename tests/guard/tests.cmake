sbx_test(guard
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/judge_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/rules_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/verdicts_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/guard/properties.cc
  LINK sbx_all)

add_executable(read_tool ${CMAKE_CURRENT_LIST_DIR}/read_tool.cc)
target_link_libraries(read_tool PRIVATE sbx_options sbx_all nlohmann_json::nlohmann_json)
target_include_directories(read_tool PRIVATE ${PROJECT_SOURCE_DIR}/tests)
set_target_properties(read_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(unit_tests read_tool)

add_test(NAME guard.differential COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/differential.py
  $<TARGET_FILE:read_tool>)
set_tests_properties(guard.differential PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)

add_test(NAME guard.bash_model COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/bash_model.py
  $<TARGET_FILE:read_tool>)
set_tests_properties(guard.bash_model PROPERTIES TIMEOUT 600)
