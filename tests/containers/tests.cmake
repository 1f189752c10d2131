# podman and crun, where they are installed and run.
sbx_python_tests(containers ${CMAKE_CURRENT_LIST_DIR})
