sbx_room(output SOURCES output/utf8.cc output/base64.cc output/capture.cc LINK sbx_base)
