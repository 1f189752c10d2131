foreach(target IN ITEMS message target redactor frames)
  sbx_fuzz(http_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_http_rooms CORPUS corpus/${target} OF libsbx/http/${target}.cc)
endforeach()
