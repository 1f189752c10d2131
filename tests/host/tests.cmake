sbx_test(host
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/cgroup_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/closure_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/denied_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/doctor_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/elf_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/etc_private_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/facts_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/git_files_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/git_use_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/narrow_view_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/probe_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/unowned_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/witnesses_test.cc
    ${PROJECT_SOURCE_DIR}/fuzz/elf/elf_fuzz.cc
    ${PROJECT_SOURCE_DIR}/fuzz/host/properties.cc
  LINK sbx_all PkgConfig::SECCOMP)
