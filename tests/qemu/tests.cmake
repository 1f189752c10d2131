# Debian's own other kernels under QEMU. The suites run in the guest as root and as a user, so the
# test itself is for one run only: root's, which can fetch kernels.
function(sbx_guest name kernel script)
  cmake_parse_arguments(GUEST "" "APPEND" "" ${ARGN})
  add_test(NAME qemu.${name}
    COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/run --kernel ${kernel} --append "${GUEST_APPEND}"
            ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${script} ${PROJECT_BINARY_DIR}/bin/sbx-run ${GUEST_UNPARSED_ARGUMENTS})
  set_tests_properties(qemu.${name} PROPERTIES
    LABELS qemu RUN_SERIAL ON TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()
add_test(NAME qemu.apparmor_restricts_userns
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/apparmor ${PROJECT_BINARY_DIR}/bin/sbx-run)
set_tests_properties(qemu.apparmor_restricts_userns PROPERTIES
  LABELS qemu RUN_SERIAL ON TIMEOUT 600 SKIP_RETURN_CODE 77)
sbx_guest(cgroup2_and_landlock_abi2 6.1 guest_suite.sh 2)
sbx_guest(landlock_abi6 6.12 guest_suite.sh 6)
sbx_guest(landlock_abi11 newest guest_suite.sh 11)
sbx_guest(without_mount_setattr 5.10 guest_weaker.sh mount_setattr)
sbx_guest(without_landlock 6.12 guest_weaker.sh landlock APPEND lsm=lockdown,capability,yama,apparmor)
sbx_guest(without_userns 6.12 guest_weaker.sh userns)
