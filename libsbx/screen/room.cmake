# Not one of sbx-run's rooms: what follows a terminal's escapes is a program of its own.
pkg_check_modules(VTERM REQUIRED IMPORTED_TARGET vterm)
if(SBX_STATIC AND NOT SBX_SANITIZE)
  find_library(VTERM_ARCHIVE libvterm.a REQUIRED)
  set_target_properties(PkgConfig::VTERM PROPERTIES INTERFACE_LINK_LIBRARIES ${VTERM_ARCHIVE})
endif()

sbx_room(screen
  SOURCES
    screen/screen.cc
  LINK sbx_base PkgConfig::VTERM)

add_executable(sbx-screen screen/main.cc)
target_link_libraries(sbx-screen PRIVATE sbx_screen sbx_jail sbx_base)
sbx_static(sbx-screen)
set_target_properties(sbx-screen PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
sbx_write_whole(sbx-screen)
