# What `cmake --install` puts where. The schemas are printed by the program that was built, as the
# pages of launcher/ are, so they cannot differ from what it accepts.
# The programs of every package: the one list. They lie beside each other, since sbx-run executes others.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/programs.txt programs)
foreach(program IN LISTS programs)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(CODE "
      set(FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${program}\")
      include(\"${PROJECT_SOURCE_DIR}/cmake/write_whole.cmake\")")
  endif()
endforeach()

install(DIRECTORY profiles/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sbx/profiles
  FILES_MATCHING PATTERN "*.json")

if(TARGET sbx-run AND NOT CMAKE_CROSSCOMPILING)
  install(CODE "
    set(schemas \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/sbx/schemas\")
    file(MAKE_DIRECTORY \"\${schemas}\")
    foreach(schema profile managed request result errors)
      message(STATUS \"Installing: \${schemas}/\${schema}.json\")
      execute_process(COMMAND \"$<TARGET_FILE:sbx-run>\" schema \${schema}
        OUTPUT_FILE \"\${schemas}/\${schema}.json\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
endif()

install(FILES docs/man/sbx-bwrap.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/sbx-profile.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
if(TARGET sbx_pages)
  install(FILES ${PROJECT_BINARY_DIR}/docs/man/sbx-run.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/docs/man/verbs/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  set(made ${PROJECT_BINARY_DIR}/completions)
  install(FILES ${made}/sbx-run.bash RENAME sbx-run
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${made}/_sbx-run DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${made}/sbx-run.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR})
