sbx_test(run
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/memory_count_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/missing_programs_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/redaction_test.cc
  LINK sbx_all)
sbx_test(run_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/run_test.cc
  LINK sbx_all
  BARE_CLONE)
