sbx_room(session SOURCES session/outcome.cc LINK sbx_base sbx_profile)
