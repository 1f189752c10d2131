# sbx_write_whole(PROGRAM): see write_whole.cmake. Where speed counts: in the release.
function(sbx_write_whole program)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    add_custom_command(TARGET ${program} POST_BUILD COMMAND ${CMAKE_COMMAND}
      -DFILE=$<TARGET_FILE:${program}> -P ${PROJECT_SOURCE_DIR}/cmake/write_whole.cmake)
  endif()
endfunction()

# sbx_room(NAME SOURCES… [LINK targets…]): one object library a room. Errors are values: nothing in a
# room throws or catches, so the release has neither the code nor the tables for it. What a library
# would throw ends the program.
function(sbx_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(sbx_${name} OBJECT ${ROOM_SOURCES})
  target_compile_options(sbx_${name} PRIVATE
    "$<$<CONFIG:Release>:-fno-exceptions;-fno-asynchronous-unwind-tables>")
  target_link_libraries(sbx_${name} PUBLIC sbx_options ${ROOM_LINK})
endfunction()
