sbx_test(run
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/fold_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/memory_count_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/missing_programs_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/network_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/redaction_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/terminal_modes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/terminal_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/watch_test.cc
  LINK sbx_all)
sbx_test(run_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/run_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sandbox_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/supervisor_test.cc
  LINK sbx_all
  BARE_CLONE)
