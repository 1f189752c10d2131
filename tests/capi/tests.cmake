# Hosts of the C ABI, compiled by the tests themselves as a user would.
sbx_python_tests(capi ${CMAKE_CURRENT_LIST_DIR} ENVIRONMENT "SBX_LIBRARY=$<TARGET_FILE:sbx>")
