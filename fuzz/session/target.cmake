sbx_fuzz(session
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/shell_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/shell_property.cc
  LINK sbx_all CORPUS corpus/session OF libsbx/session/shell_words.cc)
