sbx_room(kept
  SOURCES
    kept/base_records.cc
    kept/bytes.cc
    kept/command.cc
    kept/copy.cc
    kept/files.cc
    kept/kept_layer.cc
    kept/look.cc
    kept/merged.cc
    kept/state.cc
    kept/store.cc
  LINK sbx_base sbx_model sbx_policy sbx_host sbx_host_files)
