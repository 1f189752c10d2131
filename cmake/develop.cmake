# What those who build against libsbx need: library, header, find_package(sbx), pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sbx)
install(TARGETS sbx EXPORT sbx-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES capi/sbx.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sbx-targets NAMESPACE sbx:: DESTINATION ${package_dir})
configure_package_config_file(cmake/sbx-config.cmake.in ${PROJECT_BINARY_DIR}/sbx-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sbx-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sbx-config.cmake ${PROJECT_BINARY_DIR}/sbx-config-version.cmake
  DESTINATION ${package_dir})

# Relative to where the file lies, so that a prefix can be moved.
file(RELATIVE_PATH pc_to_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/sbx.pc.in ${PROJECT_BINARY_DIR}/sbx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sbx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
