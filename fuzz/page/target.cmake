foreach(target IN ITEMS log plan)
  sbx_fuzz(page_${target}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/${target}_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
    LINK sbx_page CORPUS corpus/${target} OF page/${target}_page.cc page/record.cc page/summary.cc)
endforeach()
