sbx_test(top
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/cells_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/processes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/review_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sessions_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/terminal_test.cc
  LINK sbx_top sbx_screen util)
# The library's flags ask the C library for older interfaces.
set_target_properties(top_test PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
target_compile_definitions(top_test PRIVATE SBX_TOP="$<TARGET_FILE:sbx-top>")
add_dependencies(top_test sbx-top sbx-screen)
