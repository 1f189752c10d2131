# Of the programs beside sbx-run that handle what is hostile.
sbx_room(jail
  SOURCES
    jail/jail.cc
  LINK sbx_base)
