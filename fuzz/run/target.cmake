sbx_fuzz(run_printed
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/printed_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
  LINK sbx_all CORPUS printed_corpus OF libsbx/run/printed_paths.cc)
