set(of_git_files libsbx/host/git_files.cc)
set(of_maps libsbx/run/memory_count.cc)
foreach(target IN ITEMS git_files maps)
  sbx_fuzz(host_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all CORPUS ${target}_corpus OF ${of_${target}})
endforeach()
