sbx_room(plan SOURCES)
