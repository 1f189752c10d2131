# The compile and link options that every target of the project shares, as one interface target.
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(CAPNG REQUIRED IMPORTED_TARGET libcap-ng)

# pkg-config names shared libraries first; a static program needs the archives.
if(SBX_STATIC AND NOT SBX_SANITIZE)
  find_library(SECCOMP_ARCHIVE libseccomp.a REQUIRED)
  find_library(CAPNG_ARCHIVE libcap-ng.a REQUIRED)
  set_target_properties(PkgConfig::SECCOMP PROPERTIES INTERFACE_LINK_LIBRARIES ${SECCOMP_ARCHIVE})
  set_target_properties(PkgConfig::CAPNG PROPERTIES INTERFACE_LINK_LIBRARIES ${CAPNG_ARCHIVE})
endif()

file(RELATIVE_PATH SBX_SOURCE_FROM_BUILD ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})  # as ccache has it
string(REGEX REPLACE "/$" "" SBX_SOURCE_FROM_BUILD ${SBX_SOURCE_FROM_BUILD})
add_library(sbx_options INTERFACE)
target_compile_features(sbx_options INTERFACE cxx_std_20)
target_compile_options(sbx_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC bug 105329: false alarms on std::string
  $<$<CXX_COMPILER_ID:Clang>:-fconstexpr-steps=20000000>  # the tables of redaction's keywords
  # A static program has no PLT, and there a call through the GOT is a byte longer than one without.
  $<$<NOT:$<AND:$<CONFIG:Release>,$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>>>>:-fno-plt>
  -fstack-protector-strong $<$<CONFIG:Release>:-fstack-clash-protection>
  $<$<AND:$<CONFIG:Release>,$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>>>:-fPIE>
  -ffunction-sections -fdata-sections
  # The same bytes from any directory: what __FILE__ says begins at the top of the tree.
  $<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>
  $<$<CONFIG:Release>:-ffile-prefix-map=${SBX_SOURCE_FROM_BUILD}/=>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # -Os copies short strings by `rep movsb`, whose start costs more than a call.
  target_compile_options(sbx_options INTERFACE $<$<CONFIG:Release>:-mstringop-strategy=libcall>)
endif()
target_compile_definitions(sbx_options INTERFACE
  _GNU_SOURCE $<$<CONFIG:Release>:_FORTIFY_SOURCE=3> SBX_VERSION="${PROJECT_VERSION}")
target_include_directories(sbx_options INTERFACE ${PROJECT_SOURCE_DIR}/libsbx ${PROJECT_BINARY_DIR}/generated)
target_link_options(sbx_options INTERFACE -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now
  $<$<CONFIG:Release>:-s>)
if(SBX_SANITIZE)
  target_compile_options(sbx_options INTERFACE -fsanitize=${SBX_SANITIZE} -fno-omit-frame-pointer)
  target_compile_definitions(sbx_options INTERFACE SBX_SANITIZED)
  target_link_options(sbx_options INTERFACE -fsanitize=${SBX_SANITIZE})
endif()
