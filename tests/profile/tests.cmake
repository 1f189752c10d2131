sbx_test(profile
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/decode_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/forms_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/managed_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sha256_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/shipped_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/store_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/trust_record_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/upstream_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/profile/fuzz_profile.cc
    ${PROJECT_SOURCE_DIR}/fuzz/trust/property.cc
  LINK sbx_all)
# Decodes one document a line, so that a script can compare its verdicts with the schema's.
add_executable(profile_decode ${CMAKE_CURRENT_LIST_DIR}/decode_lines.cc)
target_link_libraries(profile_decode PRIVATE sbx_options sbx_all)
set_target_properties(profile_decode PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(unit_tests profile_decode)
# The distribution's interpreter first: python3-jsonschema is a package of its.
find_program(SBX_PYTHON3 NAMES python3 HINTS /usr/bin)
if(SBX_PYTHON3)
  add_test(NAME profile.SchemaAgreesWithTheDecoder
    COMMAND ${SBX_PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/schema_agrees.py
      $<TARGET_FILE:profile_decode> ${PROJECT_SOURCE_DIR}/profiles)
  set_tests_properties(profile.SchemaAgreesWithTheDecoder PROPERTIES
    TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
