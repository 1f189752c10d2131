# The packages for other languages, each made and installed by its tests.
sbx_python_tests(bindings ${CMAKE_CURRENT_LIST_DIR} ENVIRONMENT "SBX_LIBRARY=$<TARGET_FILE:sbx>")
