sbx_room(output SOURCES)
