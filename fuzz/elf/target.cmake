sbx_fuzz(elf SOURCES ${CMAKE_CURRENT_LIST_DIR}/elf_fuzz.cc LINK sbx_all
  CORPUS corpus OF libsbx/host/elf.cc)
