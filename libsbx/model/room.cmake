sbx_room(model
  SOURCES
    model/address.cc
    model/denial.cc
    model/exit_status.cc
    model/finding.cc
    model/grant.cc
    model/outcome.cc
  LINK sbx_base sbx_json)
