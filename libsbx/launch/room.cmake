sbx_room(launch SOURCES launch/spawn.cc launch/child.cc launch/init.cc launch/tree.cc
  launch/handover.cc launch/guards.cc launch/network.cc
  launch/inside.cc launch/mount_inside.cc launch/reaper.cc
  LINK sbx_base sbx_plan)
