# A real Slurm of two nodes, started and ended by each class.
sbx_python_tests(slurm ${CMAKE_CURRENT_LIST_DIR})
