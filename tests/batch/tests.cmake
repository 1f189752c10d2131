sbx_test(batch
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/id_set_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/summary_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/task_line_test.cc
  LINK sbx_batch)
