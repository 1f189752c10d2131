sbx_room(report SOURCES)
