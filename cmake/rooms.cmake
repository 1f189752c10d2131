# sbx_room(NAME SOURCES… [LINK targets…]): one object library a room.
function(sbx_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(sbx_${name} OBJECT ${ROOM_SOURCES})
  target_link_libraries(sbx_${name} PUBLIC sbx_options ${ROOM_LINK})
endfunction()
