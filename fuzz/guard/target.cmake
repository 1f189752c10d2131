sbx_fuzz(judgement
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/judgement_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
  LINK sbx_all CORPUS corpus OF libsbx/guard)
