sbx_fuzz(mcp SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_mcp.cc LINK sbx_all
  CORPUS corpus OF libsbx/rpc/mcp_message.cc)
