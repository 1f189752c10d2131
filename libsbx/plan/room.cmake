sbx_room(plan SOURCES
  plan/filter.cc plan/filter_checks.cc plan/filter_emit.cc plan/filter_tables.cc
  plan/planner.cc plan/placements.cc plan/view_ops.cc plan/kept_mounts.cc plan/landlock_rules.cc plan/bounds.cc
  plan/degradations.cc plan/check.cc plan/describe.cc
  LINK sbx_base sbx_model sbx_profile sbx_policy sbx_host PkgConfig::SECCOMP fmt::fmt-header-only)
