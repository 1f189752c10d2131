# Debian's own other kernels under QEMU. The suites run in the guest as root and as a user, so the
# test itself is for one run only: root's, which can fetch kernels. A guest has one processor: it runs
# beside other tests, and first, but not beside another guest.
function(sbx_guest name kernel script)
  cmake_parse_arguments(GUEST "" "APPEND" "" ${ARGN})
  add_test(NAME qemu.${name}
    COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/run --kernel ${kernel} --append "${GUEST_APPEND}"
            ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${script} ${PROJECT_BINARY_DIR}/bin/sbx-run ${GUEST_UNPARSED_ARGUMENTS})
  set_tests_properties(qemu.${name} PROPERTIES
    LABELS qemu RESOURCE_LOCK guest COST 100 TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()
add_test(NAME qemu.apparmor_restricts_userns
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/apparmor ${PROJECT_BINARY_DIR}/bin/sbx-run)
set_tests_properties(qemu.apparmor_restricts_userns PROPERTIES
  LABELS qemu RESOURCE_LOCK guest COST 100 TIMEOUT 600 SKIP_RETURN_CODE 77)
set(counted two_thousand_forks_stop_at_the_limit threads_count_as_processes_do as_many_processes_as_the_limit_says_are_fine
  anonymous_memory memory_in_a_memory_file memory_in_shared_anonymous_mappings shared_memory_whose_pages_were_let_go_of
  memory_files_that_are_mapped_and_no_longer_open memory_in_sockets memory_in_private_tmpfs
  a_program_within_its_memory_is_left_alone cpu_time_of_one_process cpu_time_of_orphans_that_have_ended
  each_limit_in_force_names_its_enforcer)
list(TRANSFORM counted PREPEND limits_test.py:Limits.test_)
sbx_guest(cgroup2_limits 6.1 guest_limits.sh ${PROJECT_BINARY_DIR}/tests ${counted})
sbx_guest(scope_of_systemd 6.1 guest_scope.sh)
sbx_guest(cgroup2_and_landlock_abi2 6.1 guest_suite.sh 2)
sbx_guest(landlock_abi6 6.12 guest_suite.sh 6)
sbx_guest(landlock_abi7 6.18 guest_suite.sh 7)
sbx_guest(landlock_abi11 newest guest_suite.sh 11)
sbx_guest(without_mount_setattr 5.10 guest_weaker.sh mount_setattr)
sbx_guest(without_landlock 6.12 guest_weaker.sh landlock APPEND lsm=lockdown,capability,yama,apparmor)
sbx_guest(without_userns 6.12 guest_weaker.sh userns)
