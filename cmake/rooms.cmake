# sbx_write_whole(PROGRAM): see write_whole.cmake. Where speed counts: in the release.
function(sbx_write_whole program)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    add_custom_command(TARGET ${program} POST_BUILD COMMAND ${CMAKE_COMMAND}
      -DFILE=$<TARGET_FILE:${program}> -P ${PROJECT_SOURCE_DIR}/cmake/write_whole.cmake)
  endif()
endfunction()

# sbx_static(PROGRAM [FIXED]): needs no library of the host's. A release lies at an address of the
# kernel's choice, unless it is FIXED (docs/building.md, "Hardening").
function(sbx_static program)
  if(NOT SBX_STATIC OR SBX_SANITIZE)
    return()
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT "FIXED" IN_LIST ARGN)
    target_link_options(${program} PRIVATE -static-pie -Wl,-z,pack-relative-relocs)
  else()
    # The rooms are compiled to lie anywhere, which the link-time optimiser would otherwise keep to.
    target_link_options(${program} PRIVATE -static -fno-pie -no-pie)
  endif()
endfunction()

# sbx_room(NAME SOURCES… [LINK targets…]): one object library a room. Errors are values: nothing in a
# room throws or catches, so the release has neither the code nor the tables for it. What a library
# would throw ends the program.
set(SBX_NOTHING_THROWS "$<$<CONFIG:Release>:-fno-exceptions;-fno-asynchronous-unwind-tables>")
function(sbx_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(sbx_${name} OBJECT ${ROOM_SOURCES})
  target_compile_options(sbx_${name} PRIVATE "${SBX_NOTHING_THROWS}")
  target_link_libraries(sbx_${name} PUBLIC sbx_options ${ROOM_LINK})
endfunction()
