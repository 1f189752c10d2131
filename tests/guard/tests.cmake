sbx_test(guard
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/reading_test.cc
  LINK sbx_all)

add_executable(read_tool ${CMAKE_CURRENT_LIST_DIR}/read_tool.cc)
target_link_libraries(read_tool PRIVATE sbx_options sbx_all nlohmann_json::nlohmann_json)
set_target_properties(read_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
