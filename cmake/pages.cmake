# cmake -DPROGRAM=sbx-pages -DTEMPLATE=FILE.in -DOUTPUT=FILE -P pages.cmake: each @PART@ that stands alone
# in a line of the template becomes what `sbx-pages PART` prints.
file(READ ${TEMPLATE} text)
string(REGEX MATCHALL "@[a-z]+@\n" marks "${text}")
foreach(mark IN LISTS marks)
  string(REGEX REPLACE "@([a-z]+)@\n" "\\1" part "${mark}")
  execute_process(COMMAND ${PROGRAM} ${part} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "${mark}" "${printed}" text "${text}")
endforeach()
file(WRITE ${OUTPUT} "${text}")
