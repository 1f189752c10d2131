sbx_room(launch SOURCES launch/spawn.cc launch/child.cc launch/init.cc launch/tree.cc
  launch/handover.cc launch/guards.cc launch/network.cc
  launch/mounts.cc launch/operations_view.cc launch/operations_process.cc
  LINK sbx_base sbx_plan)
