sbx_room(model
  SOURCES
    model/denial.cc
    model/exit_status.cc
    model/finding.cc
    model/grant.cc
    model/outcome.cc
  LINK sbx_base)
