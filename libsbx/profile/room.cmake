sbx_room(profile SOURCES)
