foreach(target IN ITEMS git_files maps)
  sbx_fuzz(host_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all)
endforeach()
