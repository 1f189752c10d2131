sbx_room(plan SOURCES plan/filter.cc plan/filter_checks.cc plan/filter_emit.cc plan/filter_tables.cc
  LINK sbx_base PkgConfig::SECCOMP)
