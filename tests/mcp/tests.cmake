sbx_test(mcp SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/message_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/progress_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/signed_state_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
  ${PROJECT_SOURCE_DIR}/fuzz/mcp/fuzz_mcp.cc
  LINK sbx_all)
