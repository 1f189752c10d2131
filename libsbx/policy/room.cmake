sbx_room(policy SOURCES)
