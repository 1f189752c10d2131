sbx_test(launch
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/receive_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/spawn_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/step_error_test.cc
  LINK sbx_all
  BARE_CLONE)
