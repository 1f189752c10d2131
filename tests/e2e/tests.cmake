# One ctest for each method of each class in *_test.py: "e2e.FILE.CLASS.METHOD".
# The distribution's own: one below a home directory is out of reach of the unprivileged user.
find_program(SBX_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
file(GLOB e2e_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${e2e_files})
foreach(file IN LISTS e2e_files)
  get_filename_component(stem ${file} NAME_WE)
  file(STRINGS ${file} lines REGEX "^class [A-Za-z0-9_]+|^    def test_[A-Za-z0-9_]+")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z0-9_]+)")
      set(class ${CMAKE_MATCH_1})
    elseif(line MATCHES "def (test_[A-Za-z0-9_]+)")
      set(name e2e.${stem}.${class}.${CMAKE_MATCH_1})
      add_test(NAME ${name} COMMAND ${SBX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/run.py ${file}
        ${class}.${CMAKE_MATCH_1})
      set_tests_properties(${name} PROPERTIES TIMEOUT 180 LABELS e2e
        SKIP_REGULAR_EXPRESSION "SKIPPED: "
        ENVIRONMENT "SBX_RUN=$<TARGET_FILE:sbx-run>;SBX_SOURCE=${PROJECT_SOURCE_DIR};SBX_TEST_TOOLS=${PROJECT_BINARY_DIR}/tests")
    endif()
  endforeach()
endforeach()
