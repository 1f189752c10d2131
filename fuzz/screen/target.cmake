sbx_fuzz(screen
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/screen_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/properties.cc
  LINK sbx_screen CORPUS corpus/screen OF libsbx/screen/screen.cc)
