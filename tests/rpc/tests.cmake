sbx_test(rpc
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/framing_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/params_test.cc
  LINK sbx_all)
