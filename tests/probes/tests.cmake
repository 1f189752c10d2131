# Static C programs that try things from inside; harness.probe(NAME) finds them.
foreach(probe escape)
  add_executable(probe_${probe} ${CMAKE_CURRENT_LIST_DIR}/${probe}.c)
  target_compile_definitions(probe_${probe} PRIVATE _GNU_SOURCE)
  target_link_options(probe_${probe} PRIVATE -static)
  set_target_properties(probe_${probe} PROPERTIES OUTPUT_NAME ${probe}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endforeach()
