sbx_test(batch
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/id_set_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/lane_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/summary_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/task_line_test.cc
  LINK sbx_batch)
target_include_directories(batch_test PRIVATE ${PROJECT_SOURCE_DIR}/batch ${PROJECT_SOURCE_DIR}/capi
  ${PROJECT_SOURCE_DIR}/launcher)
