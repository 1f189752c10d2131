sbx_room(json
  SOURCES
    json/base64.cc
    json/check.cc
    json/codec.cc
    json/reader.cc
    json/scan.cc
    json/schema.cc
    json/writer.cc
  LINK sbx_base nlohmann_json::nlohmann_json)
