sbx_test(trace
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/file_call_test.cc
  LINK sbx_all)
