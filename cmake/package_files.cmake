# Run by cpack over the installed tree: what Debian asks of every package, and only of packages.
set(share "${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
set(contact "The sbx authors <sbx-maintainers@users.noreply.github.com>")
file(WRITE ${share}/doc/sbx/copyright
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
  "Upstream-Name: sbx\n\nFiles: *\nCopyright: 2026 The sbx authors\nLicense: Apache-2.0\n"
  " See /usr/share/common-licenses/Apache-2.0.\n")
file(WRITE ${share}/doc/sbx/changelog
  "sbx (${CPACK_PACKAGE_VERSION}) stable; urgency=low\n\n  * Release ${CPACK_PACKAGE_VERSION}.\n\n"
  " -- ${contact}  Thu, 01 Jan 2026 00:00:00 +0000\n")
# What lets them make user namespaces on Ubuntu, as `sbx-run doctor --apparmor` prints it.
file(MAKE_DIRECTORY ${CPACK_TEMPORARY_DIRECTORY}/etc/apparmor.d)
foreach(program sbx-run sbx-bwrap)
  execute_process(COMMAND ${CPACK_SBX_PAGES} apparmor /usr/bin/${program}
    OUTPUT_FILE ${CPACK_TEMPORARY_DIRECTORY}/etc/apparmor.d/${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(overrides
"# One package for one small library, its header and the programs that it starts: none is of use alone.
sbx: package-name-doesnt-match-sonames libsbx1
sbx: link-to-shared-library-in-wrong-package *
# Of this architecture only: nobody compiles for another with it.
sbx: pkg-config-unavailable-for-cross-compilation *
# What commands may read has /var/lib/dpkg among it.
sbx: uses-dpkg-database-directly *
# Static on purpose: they start faster, and run where the C library is another.
")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/programs.txt programs)
foreach(program IN LISTS programs)
  # What is static and lies anywhere is to lintian a shared library that names no other. (e_type: 3 is ET_DYN.)
  file(READ ${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/bin/${program} type OFFSET 16 LIMIT 1 HEX)
  if(type STREQUAL "03")
    string(APPEND overrides "sbx: shared-library-lacks-prerequisites [usr/bin/${program}]\n")
  else()
    string(APPEND overrides "sbx: statically-linked-binary [usr/bin/${program}]\n")
  endif()
  # What sbx-run executes has its page as a verb, or is told of in sbx-run's own.
  if(NOT EXISTS ${share}/man/man1/${program}.1)
    string(REPLACE sbx- sbx-run- page ${program})
    if(NOT EXISTS ${share}/man/man1/${page}.1)
      set(page sbx-run)
    endif()
    file(WRITE ${share}/man/man1/${program}.1 ".so man1/${page}.1\n")
  endif()
endforeach()
string(APPEND overrides "# What Debian's libgit2.a needs.\n")
foreach(library libssh2 mbedtls zlib)
  string(APPEND overrides "sbx: embedded-library ${library} [usr/bin/sbx-layer]\n")
endforeach()
string(APPEND overrides "# Static as the rest.\n" "sbx: embedded-library ncurses [usr/bin/sbx-top]\n")
file(WRITE ${share}/lintian/overrides/sbx "${overrides}")
file(GLOB pages ${share}/man/man*/*.[0-9])
find_program(gzip gzip REQUIRED)
execute_process(COMMAND ${gzip} -9nf ${share}/doc/sbx/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB made ${CPACK_TEMPORARY_DIRECTORY}/etc/apparmor.d/* ${share}/doc/sbx/c* ${share}/lintian/overrides/sbx ${share}/man/man*/*.gz)
file(CHMOD ${made} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
