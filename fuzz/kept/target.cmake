sbx_fuzz(kept_records SOURCES ${CMAKE_CURRENT_LIST_DIR}/records_fuzz.cc LINK sbx_layer_actions)
