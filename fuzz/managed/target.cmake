sbx_fuzz(managed SOURCES ${CMAKE_CURRENT_LIST_DIR}/managed_fuzz.cc LINK sbx_all
  CORPUS corpus OF libsbx/profile/managed.cc libsbx/policy/narrow.cc)
