sbx_fuzz(bwrap_options SOURCES ${CMAKE_CURRENT_LIST_DIR}/options_fuzz.cc LINK sbx_bwrap_rooms
  CORPUS corpus OF libsbx/bwrap/options.cc)
