# Not one of sbx-run's rooms: what parses HTTP and makes certificates is a program of its own.
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET libssl libcrypto)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
if(SBX_STATIC AND NOT SBX_SANITIZE)
  find_library(SSL_ARCHIVE libssl.a REQUIRED)
  find_library(CRYPTO_ARCHIVE libcrypto.a REQUIRED)
  find_library(NGHTTP2_ARCHIVE libnghttp2.a REQUIRED)
  set_target_properties(PkgConfig::OPENSSL PROPERTIES
    INTERFACE_LINK_LIBRARIES "${SSL_ARCHIVE};${CRYPTO_ARCHIVE};dl;pthread")
  set_target_properties(PkgConfig::NGHTTP2 PROPERTIES INTERFACE_LINK_LIBRARIES ${NGHTTP2_ARCHIVE})
endif()

sbx_room(http
  SOURCES
    http/authority.cc
    http/connection.cc
    http/credentials.cc
    http/frames.cc
    http/http1.cc
    http/http2.cc
    http/http2_session.cc
    http/judge.cc
    http/message.cc
    http/realm.cc
    http/redactor.cc
    http/rules.cc
    http/service.cc
    http/sources.cc
    http/spellings.cc
    http/start.cc
    http/stream.cc
    http/target.cc
  LINK sbx_base sbx_jail sbx_json sbx_model sbx_profile nlohmann_json::nlohmann_json PkgConfig::OPENSSL
    PkgConfig::NGHTTP2)

# All that it consists of: few of the rooms.
add_library(sbx_http_rooms STATIC)
foreach(room base json model profile jail http)
  target_sources(sbx_http_rooms PRIVATE $<TARGET_OBJECTS:sbx_${room}>)
  target_link_libraries(sbx_http_rooms PUBLIC sbx_${room})
endforeach()
add_executable(sbx-http http/main.cc)
target_link_libraries(sbx-http PRIVATE sbx_http_rooms)
sbx_static(sbx-http)
set_target_properties(sbx-http PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
sbx_write_whole(sbx-http)
