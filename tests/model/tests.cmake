sbx_test(model
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/address_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/denial_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/grant_test.cc
  LINK sbx_base sbx_json sbx_model nlohmann_json::nlohmann_json)
