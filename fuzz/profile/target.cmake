sbx_fuzz(profile SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_profile.cc LINK sbx_all)
