# Debian's own other kernels under QEMU. The suite runs in the guest as root and as a user, so the
# test itself is for one run only: root's, which can fetch kernels.
foreach(guest 6.1:2:cgroup2_and_landlock_abi2 6.12:6:landlock_abi6)
  string(REPLACE ":" ";" guest ${guest})
  list(GET guest 0 kernel)
  list(GET guest 1 landlock_abi)
  list(GET guest 2 name)
  add_test(NAME qemu.${name}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/run --kernel ${kernel} ${CMAKE_CURRENT_LIST_DIR}/guest_suite.sh
            ${PROJECT_BINARY_DIR}/bin/sbx-run ${landlock_abi})
  set_tests_properties(qemu.${name} PROPERTIES
    LABELS qemu RUN_SERIAL ON TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()
