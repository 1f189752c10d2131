sbx_fuzz(profile SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_profile.cc LINK sbx_all
  CORPUS corpus OF libsbx/profile/decode.cc libsbx/json/reader.cc libsbx/json/scan.cc)
if(TARGET fuzz_profile)
  target_include_directories(fuzz_profile PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endif()
