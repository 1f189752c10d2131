sbx_room(session SOURCES)
