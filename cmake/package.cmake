# `cpack -G DEB` in a release build: one Debian package. sbx-run is static; the library needs libc.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sbx)
set(CPACK_PACKAGE_CONTACT "The sbx authors <sbx-maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run shell commands in a sandbox of their own")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "sbx-run builds a sandbox for one shell command out of namespaces, seccomp and
Landlock, and answers in JSON. Included: the C library libsbx with its header,
and sbx-bwrap, which takes bubblewrap's command line.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(GLOB CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/deb/*)
set(CPACK_SBX_PAGES ${PROJECT_BINARY_DIR}/launcher/sbx-pages)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
include(CPack)
