sbx_room(guard
  SOURCES
    guard/confine.cc
    guard/deny.cc
    guard/directories.cc
    guard/finds.cc
    guard/named.cc
    guard/names.cc
    guard/places.cc
    guard/queries.cc
    guard/removals.cc
    guard/rules_data.cc
    guard/rules_files.cc
    guard/rules_git.cc
    guard/rules_shell.cc
    guard/rules_system.cc
    guard/verdict.cc
  LINK sbx_base sbx_json sbx_model sbx_shell sbx_policy)
