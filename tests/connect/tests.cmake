sbx_test(connect
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/errand_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/unix_peers_test.cc
  LINK sbx_all)
sbx_test(connect_bare
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/connector_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/connects_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/../trace/filtered.cc
  LINK sbx_all
  BARE_CLONE)
