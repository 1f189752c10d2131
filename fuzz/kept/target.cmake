sbx_fuzz(kept_records SOURCES ${CMAKE_CURRENT_LIST_DIR}/records_fuzz.cc LINK sbx_layer_actions
  CORPUS corpus OF layer/journal.cc libsbx/kept/base_records.cc libsbx/kept/state.cc)
