sbx_test(run
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/at_hand_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/fold_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/held_files_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/memory_count_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/missing_programs_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/network_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/printed_paths_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/redaction_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/terminal_modes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/terminal_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/unreported_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/watch_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/run/properties.cc
  LINK sbx_all)
sbx_test(run_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/run_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sandbox_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/supervisor_test.cc
  LINK sbx_all
  BARE_CLONE)
sbx_test(http_process
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/http_process_test.cc
  LINK sbx_all sbx_http)
# Found beside the program that starts it.
add_dependencies(http_process_test sbx-http)
add_custom_command(TARGET http_process_test POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:sbx-http>
    $<TARGET_FILE_DIR:http_process_test>/sbx-http)
