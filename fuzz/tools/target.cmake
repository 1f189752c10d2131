sbx_fuzz(tools SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_tools.cc LINK sbx_all
  CORPUS corpus OF libsbx/tools/params.cc libsbx/tools/tool.cc)
