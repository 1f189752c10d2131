sbx_test(host_files
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/changes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/leftovers_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/logs_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/main.cc
    ${CMAKE_CURRENT_LIST_DIR}/remove_tree_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/stubs_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/workspace_files_test.cc
  LINK sbx_all)
