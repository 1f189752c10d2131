sbx_room(bwrap SOURCES bwrap/options.cc bwrap/option_table.cc bwrap/usage.cc bwrap/sources.cc
  bwrap/plan.cc bwrap/describe.cc bwrap/words.cc bwrap/run.cc bwrap/reaper.cc
  bwrap/operations_files.cc bwrap/operations_mounts.cc bwrap/operations_process.cc
  LINK sbx_base sbx_profile sbx_policy sbx_host sbx_plan sbx_launch)
