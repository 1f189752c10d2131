sbx_room(host SOURCES)
