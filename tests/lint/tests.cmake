# What is not code: the installation, man pages and completions, shell scripts, links.
add_test(NAME lint.install COMMAND ${CMAKE_CURRENT_LIST_DIR}/install_test ${PROJECT_BINARY_DIR})
add_test(NAME lint.options COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/options_test.py
  ${PROJECT_BINARY_DIR}/bin/sbx-run ${PROJECT_SOURCE_DIR})
add_test(NAME lint.shell COMMAND ${CMAKE_CURRENT_LIST_DIR}/shell_test ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR})
add_test(NAME lint.links COMMAND ${SBX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/links_test.py
  ${PROJECT_SOURCE_DIR})
add_test(NAME lint.rooms COMMAND ${SBX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/rooms_test.py
  ${PROJECT_SOURCE_DIR})
add_test(NAME lint.policy COMMAND ${SBX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/policy_test.py
  ${PROJECT_SOURCE_DIR})
add_test(NAME lint.hardening COMMAND ${SBX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/hardening_test.py
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
set_tests_properties(lint.hardening lint.install lint.links lint.options lint.policy lint.rooms lint.shell PROPERTIES
  LABELS lint TIMEOUT 120 SKIP_RETURN_CODE 77)
set_tests_properties(lint.hardening PROPERTIES TIMEOUT 600)
