# Each package, installed and used in fresh Debians, as root and as a user: one run, root's.
foreach(release bookworm trixie)
  add_test(NAME packages.${release}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/fresh_root ${release} ${PROJECT_BINARY_DIR})
  set_tests_properties(packages.${release} PROPERTIES
    LABELS packages RESOURCE_LOCK fresh_root COST 100 TIMEOUT 1200 SKIP_RETURN_CODE 77)
endforeach()
