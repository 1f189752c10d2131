sbx_fuzz(grants SOURCES ${CMAKE_CURRENT_LIST_DIR}/grants_fuzz.cc LINK sbx_learn
  CORPUS corpus OF learn/grants.cc)
