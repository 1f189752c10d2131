sbx_fuzz(trust SOURCES ${CMAKE_CURRENT_LIST_DIR}/trust_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/property.cc
  LINK sbx_all CORPUS corpus OF libsbx/profile/trust_record.cc)
