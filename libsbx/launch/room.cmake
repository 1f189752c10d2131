sbx_room(launch SOURCES)
