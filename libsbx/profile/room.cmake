sbx_room(profile
  SOURCES
    profile/decode.cc
    profile/default_profile.cc
    profile/fields.cc
    profile/forms.cc
    profile/host_rule.cc
    profile/managed.cc
    profile/schema.cc
    profile/shipped.cc
    profile/source.cc
    profile/store.cc
    profile/trust_record.cc
    profile/upstream.cc
    ${PROJECT_BINARY_DIR}/generated/default_profile.inc
    ${PROJECT_BINARY_DIR}/generated/shipped_profiles.inc
  LINK sbx_base sbx_json sbx_model nlohmann_json::nlohmann_json)

file(GLOB shipped_profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.json
  ${PROJECT_SOURCE_DIR}/profiles/presets/*.json)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/generated/shipped_profiles.inc
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/profiles
    -DOUTPUT=${PROJECT_BINARY_DIR}/generated/shipped_profiles.inc
    -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${shipped_profiles} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  VERBATIM)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/generated/default_profile.inc
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/profiles
    -DOUTPUT=${PROJECT_BINARY_DIR}/generated/default_profile.inc
    -P ${CMAKE_CURRENT_LIST_DIR}/default_profile.cmake
  DEPENDS ${shipped_profiles}
    ${CMAKE_CURRENT_LIST_DIR}/default_profile.cmake
  VERBATIM)
