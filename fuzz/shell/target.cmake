sbx_fuzz(shell_reading
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/reading_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
  LINK sbx_all CORPUS corpus OF libsbx/shell)
