sbx_fuzz(batch SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_task_line.cc LINK sbx_batch
  CORPUS corpus OF batch/task_line.cc)
