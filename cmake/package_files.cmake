# Run by cpack over the installed tree: what Debian asks of every package, and only of packages.
set(share "${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
set(contact "The sbx authors <sbx-maintainers@users.noreply.github.com>")
file(WRITE ${share}/doc/sbx/copyright
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
  "Upstream-Name: sbx\n\nFiles: *\nCopyright: The sbx authors\nLicense: Apache-2.0\n"
  " See /usr/share/common-licenses/Apache-2.0.\n")
file(WRITE ${share}/doc/sbx/changelog
  "sbx (${CPACK_PACKAGE_VERSION}) stable; urgency=low\n\n  * Release ${CPACK_PACKAGE_VERSION}.\n\n"
  " -- ${contact}  Thu, 01 Jan 2026 00:00:00 +0000\n")
# Static on purpose: it starts faster, and runs where the C library is another.
set(overrides "")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/programs.txt programs)
foreach(program IN LISTS programs)
  string(APPEND overrides "sbx: statically-linked-binary [usr/bin/${program}]\n")
endforeach()
# What Debian's libgit2.a needs.
foreach(library libssh2 mbedtls zlib)
  string(APPEND overrides "sbx: embedded-library ${library} [usr/bin/sbx-layer]\n")
endforeach()
file(WRITE ${share}/lintian/overrides/sbx "${overrides}")
file(GLOB pages ${share}/man/man*/*.[0-9])
find_program(gzip gzip REQUIRED)
execute_process(COMMAND ${gzip} -9nf ${share}/doc/sbx/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB made ${share}/doc/sbx/c* ${share}/lintian/overrides/sbx ${share}/man/man*/*.gz)
file(CHMOD ${made} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
