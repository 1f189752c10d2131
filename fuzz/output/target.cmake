foreach(target IN ITEMS utf8 capture redact result_line terminal_text)
  sbx_fuzz(output_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all)
endforeach()
