sbx_room(bwrap SOURCES bwrap/options.cc bwrap/option_table.cc bwrap/usage.cc bwrap/sources.cc
  bwrap/plan.cc bwrap/words.cc bwrap/run.cc
  LINK sbx_base sbx_profile sbx_policy sbx_host sbx_plan sbx_launch)
