# `cpack -G DEB` in a release build: one Debian package. sbx-run is static; the library needs libc.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sbx)
set(CPACK_PACKAGE_CONTACT "The sbx authors <sbx@localhost>")
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
# What Debian asks of every package: its licence and its changes.
file(WRITE ${PROJECT_BINARY_DIR}/deb/copyright
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
  "Upstream-Name: sbx\n\nFiles: *\nCopyright: The sbx authors\nLicense: Apache-2.0\n"
  " See /usr/share/common-licenses/Apache-2.0.\n")
file(WRITE ${PROJECT_BINARY_DIR}/deb/changelog
  "sbx (${PROJECT_VERSION}) stable; urgency=low\n\n  * Release ${PROJECT_VERSION}.\n\n"
  " -- The sbx authors <sbx@localhost>  Thu, 01 Jan 2026 00:00:00 +0000\n")
find_program(SBX_GZIP gzip)
if(SBX_GZIP)
  execute_process(COMMAND ${SBX_GZIP} -9nf ${PROJECT_BINARY_DIR}/deb/changelog)
  install(FILES ${PROJECT_BINARY_DIR}/deb/copyright ${PROJECT_BINARY_DIR}/deb/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
include(CPack)
