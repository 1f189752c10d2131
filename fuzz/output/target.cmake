foreach(target IN ITEMS utf8 capture)
  sbx_fuzz(output_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all)
endforeach()
