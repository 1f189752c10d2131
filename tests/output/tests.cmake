sbx_test(output
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/capture_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/connection_string_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/escapes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/long_line_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/private_key_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/redact_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/secret_formats_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/result_line_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/stream_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/terminal_text_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/output/properties.cc
  LINK sbx_base sbx_json sbx_output nlohmann_json::nlohmann_json)
