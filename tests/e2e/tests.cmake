sbx_python_tests(e2e ${CMAKE_CURRENT_LIST_DIR})
