# RE2 comes without a CMake package on Debian 12; a static sbx-run needs its archive by name.
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
if(SBX_STATIC)
  find_library(RE2_LIBRARY NAMES libre2.a re2 REQUIRED)
else()
  find_library(RE2_LIBRARY NAMES re2 REQUIRED)
endif()
find_package(Threads REQUIRED)
# RE2 has no version macro, and Debian's re2.pc says 0.0.0: the shared library's own number.
get_filename_component(RE2_DIRECTORY ${RE2_LIBRARY} DIRECTORY)
get_filename_component(RE2_REAL_PATH ${RE2_DIRECTORY}/libre2.so REALPATH)
string(REGEX MATCH "[0-9][0-9.]*$" RE2_VERSION "${RE2_REAL_PATH}")
set(RE2_VERSION "${RE2_VERSION}" CACHE INTERNAL "for --version")

add_library(sbx_re2 INTERFACE)
target_include_directories(sbx_re2 SYSTEM INTERFACE ${RE2_INCLUDE_DIR})
target_link_libraries(sbx_re2 INTERFACE ${RE2_LIBRARY} Threads::Threads)

set(redaction_rules ${PROJECT_SOURCE_DIR}/profiles/redaction/rules.json)
set(redaction_tables ${PROJECT_BINARY_DIR}/generated/redaction_formats.inc
  ${PROJECT_BINARY_DIR}/generated/redaction_keywords.inc
  ${PROJECT_BINARY_DIR}/generated/redaction_names.inc)
add_custom_command(
  OUTPUT ${redaction_tables}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${redaction_rules} -DOUTPUT=${PROJECT_BINARY_DIR}/generated
    -P ${CMAKE_CURRENT_LIST_DIR}/embed_rules.cmake
  DEPENDS ${redaction_rules} ${CMAKE_CURRENT_LIST_DIR}/embed_rules.cmake
  VERBATIM)

sbx_room(output
  SOURCES
    output/assignment.cc
    output/capture.cc
    output/client_call.cc
    output/exact_values.cc
    output/literal_set.cc
    output/private_key.cc
    output/redact.cc
    output/result_line.cc
    output/rule_set.cc
    output/secret_formats.cc
    output/secret_value.cc
    output/stream.cc
    output/terminal_text.cc
    output/url_password.cc
    ${redaction_tables}
  LINK sbx_base sbx_json sbx_re2)
