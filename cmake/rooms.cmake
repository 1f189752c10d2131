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
  set(no_locales ${PROJECT_SOURCE_DIR}/launcher/no_locales.cc)
  target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/launcher/no_lookups.cc ${no_locales})
  # It stands before the library's own of those names, which have other sizes.
  set_source_files_properties(${no_locales} PROPERTIES COMPILE_OPTIONS -fno-lto)
  target_link_options(${program} PRIVATE -Wl,--wrap=dlopen)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT "FIXED" IN_LIST ARGN)
    target_link_options(${program} PRIVATE -static-pie -Wl,-z,pack-relative-relocs)
  else()
    # The rooms are compiled to lie anywhere, which the link-time optimiser would otherwise keep to.
    target_link_options(${program} PRIVATE -static -fno-pie -no-pie)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL Release AND "FIXED" IN_LIST ARGN)
    set(script ${PROJECT_SOURCE_DIR}/cmake/no_unwinding.ld)
    target_link_options(${program} PRIVATE -Wl,-T,${script})
    set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()

# sbx_parse_once(CARRIER HEADERS…) and sbx_parsed(TARGET CARRIER): what most files include is parsed
# once where tests are built: of such a build's time the headers take most. A file includes
# what it uses all the same: the release, the fuzz targets and clang-tidy know nothing of this.
set(SBX_PARSES_ONCE OFF)
if(SBX_TESTS AND NOT CMAKE_BUILD_TYPE STREQUAL Release)
  set(SBX_PARSES_ONCE ON)
endif()
function(sbx_parse_once carrier)
  if(SBX_PARSES_ONCE)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/${carrier}.cc "")
    add_library(${carrier} OBJECT ${PROJECT_BINARY_DIR}/generated/${carrier}.cc)
    target_link_libraries(${carrier} PRIVATE sbx_options)
    target_precompile_headers(${carrier} PRIVATE ${ARGN})
    # Without the times of the headers ccache knows a file again that clang has compiled with them.
    target_compile_options(${carrier} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()
function(sbx_parsed target carrier)
  if(SBX_PARSES_ONCE)
    target_precompile_headers(${target} REUSE_FROM ${carrier})
  endif()
endfunction()
set(SBX_PARSED_HEADERS <algorithm> <array> <chrono> <cstring> <filesystem> <fstream> <functional> <map>
  <memory> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>
  <nlohmann/json.hpp>)
sbx_parse_once(sbx_parsed_rooms ${SBX_PARSED_HEADERS})

# sbx_room(NAME SOURCES… [LINK targets…]): one object library a room. Errors are values: nothing in a
# room throws or catches, or asks for a type as it runs, so the release has neither the code nor the
# tables for it. What a library would throw ends the program.
set(SBX_NOTHING_THROWS "$<$<CONFIG:Release>:-fno-exceptions;-fno-rtti;-fno-asynchronous-unwind-tables>")
function(sbx_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(sbx_${name} OBJECT ${ROOM_SOURCES})
  target_compile_options(sbx_${name} PRIVATE "${SBX_NOTHING_THROWS}")
  target_link_libraries(sbx_${name} PUBLIC sbx_options ${ROOM_LINK})
  sbx_parsed(sbx_${name} sbx_parsed_rooms)
endfunction()
