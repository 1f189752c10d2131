sbx_room(guard
  SOURCES
    guard/reading.cc
  LINK sbx_base sbx_profile sbx_policy)
