sbx_test(http
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/connection_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/corpus_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/credentials_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/frames_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/message_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/service_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sources_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/target_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/http/properties.cc
  LINK sbx_http_rooms)
