sbx_room(host_files
  SOURCES
    host_files/append_file.cc
    host_files/changes.cc
    host_files/leftovers.cc
    host_files/open_way.cc
    host_files/places.cc
    host_files/remove_tree.cc
    host_files/spill.cc
    host_files/stubs.cc
    host_files/user_attributes.cc
    host_files/watchdog.cc
    host_files/workspace_files.cc
  LINK sbx_base sbx_model sbx_policy sbx_host)
