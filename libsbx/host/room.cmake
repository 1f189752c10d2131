sbx_room(host SOURCES
  host/cgroup.cc
  host/closure.cc
  host/denied.cc
  host/doctor.cc
  host/elf.cc
  host/etc_private.cc
  host/facts.cc
  host/obstacles.cc
  host/probe.cc
  host/git_use.cc
  host/git_files.cc
  host/fifos.cc
  host/globs.cc
  host/layer_places.cc
  host/looks.cc
  host/narrow_view.cc
  host/git_outside.cc
  host/outside_program.cc
  host/id_map.cc
  host/owners.cc
  host/shut.cc
  host/surroundings.cc
  host/view.cc
  host/view_roots.cc
  host/protect.cc
  host/witnesses.cc
  LINK sbx_base PkgConfig::CAPNG sbx_profile sbx_policy sbx_guard nlohmann_json::nlohmann_json fmt::fmt-header-only)
