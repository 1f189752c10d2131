// SPDX-License-Identifier: Apache-2.0
// Text is cut before it is escaped, so that a page is bounded by what was asked for.
#include "html.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "assets.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/base64.h"

namespace sbx::page {
namespace {

std::string format(const char* how, double number) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, how, number);
  return {text, static_cast<std::size_t>(size)};
}

// "'sha256-…'", as a Content-Security-Policy names an inline script or style.
std::string source_hash(std::string_view source) {
  const std::string hex = sha256_hex(source);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return "'sha256-" + base64_encode(bytes) + "'";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  text = text.substr(0, most);
  text.remove_suffix(cut_character_suffix(text));
  return text;
}

}  // namespace

std::string duration_text(double ms) {
  if (!(ms >= 0)) ms = 0;
  if (ms < 1000) return format("%.1f ms", ms);
  if (ms < 120'000) return format("%.1f s", ms / 1000);
  if (ms < 7'200'000) return format("%.1f min", ms / 60'000);
  return format("%.1f h", ms / 3'600'000);
}

std::string bytes_text(std::uint64_t number) {
  static constexpr const char* kForms[] = {"%.0f B",   "%.1f KiB", "%.1f MiB", "%.1f GiB",
                                           "%.1f TiB", "%.1f PiB", "%.1f EiB"};
  auto size = static_cast<double>(number);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kForms)) {
    size /= 1024;
    ++unit;
  }
  return format(kForms[unit], size);
}

void Html::begin(std::string_view title) {
  *this << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "base-uri 'none'; form-action 'none'; style-src ";
  add(source_hash(kStyle));
  *this << "; script-src ";
  add(source_hash(kScript));
  *this << "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n"
           "<meta name=\"generator\" content=\"sbx " SBX_VERSION "\">\n<title>";
  text(title, 200);
  *this << "</title>\n<style>";
  add(kStyle);
  *this << "</style>\n</head>\n<body>\n";
}

bool Html::end() {
  *this << "<script>";
  add(kScript);
  *this << "</script>\n</body>\n</html>\n";
  flush();
  errno = error_;
  return error_ == 0;
}

Html& Html::text(std::string_view text, std::size_t most) {
  const std::string_view head = cut(text, most);
  add(escaped(escape_control_bytes(head)));
  if (head.size() < text.size()) add("…");
  return *this;
}

Html& Html::lines(std::string_view text, std::size_t most) {
  const std::string_view head = cut(text, most);
  bool is_first = true;
  for (const std::string_view line : split(head, '\n')) {
    if (!is_first) add("\n");
    is_first = false;
    add(escaped(escape_control_bytes(line)));
  }
  if (head.size() < text.size()) add("…");
  return *this;
}

Html& Html::count(std::uint64_t number) {
  add(std::to_string(number));
  return *this;
}

Html& Html::decimal(double number) {
  add(format("%.2f", number));
  return *this;
}

Html& Html::duration(double ms) {
  add(duration_text(ms));
  return *this;
}

Html& Html::bytes(std::uint64_t number) {
  add(bytes_text(number));
  return *this;
}

void Html::add(std::string_view bytes) {
  buffer_ += bytes;
  constexpr std::size_t kMuch = 1 << 16;
  if (buffer_.size() >= kMuch) flush();
}

void Html::flush() {
  if (error_ == 0 && !write_all(fd_, buffer_)) error_ = errno;
  buffer_.clear();
}

}  // namespace sbx::page
