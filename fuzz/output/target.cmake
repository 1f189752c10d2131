set(of_utf8 libsbx/base/utf8.cc)
foreach(target IN ITEMS capture redact result_line terminal_text)
  set(of_${target} libsbx/output/${target}.cc)
endforeach()
foreach(target IN ITEMS utf8 capture redact result_line terminal_text)
  sbx_fuzz(output_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_all CORPUS corpus/${target} OF ${of_${target}})
endforeach()
