# Profiles → C++ table entries: cmake -DSOURCE=profiles -DOUTPUT=shipped_profiles.inc -P embed.cmake
# Line ends and indentation go: a string of JSON cannot hold a line end, so nothing else does.
file(GLOB profiles ${SOURCE}/*.json)
list(SORT profiles)
set(entries "")
foreach(profile IN LISTS profiles)
  get_filename_component(name ${profile} NAME_WE)
  file(READ ${profile} text)
  string(REGEX REPLACE "\n *" "" text "${text}")
  string(APPEND entries "{\"${name}\", R\"json(${text})json\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${entries}")
