# cmake -DFILE=PROGRAM -P write_whole.cmake: writes the file again in one piece. A file system with
# large folios then caches it in few of them, and a page fault on program text, some fifty of which
# are part of each launch, costs a fraction of what it does behind a linker's many small writes.
execute_process(COMMAND dd if=${FILE} of=${FILE}.whole bs=64M status=none COMMAND_ERROR_IS_FATAL ANY)
file(CHMOD ${FILE}.whole PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
file(RENAME ${FILE}.whole ${FILE})
