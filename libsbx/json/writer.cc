// SPDX-License-Identifier: Apache-2.0
// Escaping strings for JSON, in runs.
#include "json/writer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hex.h"
#include "base/utf8.h"

namespace sbx {
namespace {

// Bytes that end a run: what JSON escapes, DEL, C2 (the first byte of every C1 control) and E2 (the
// first byte of U+2028 and U+2029).
constexpr std::array<bool, 256> kEndsRun = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) table[byte] = true;
  for (const unsigned char byte : {'"', '\\', '\x7f'}) table[byte] = true;
  table[0xC2] = table[0xE2] = true;
  return table;
}();

void append_u_escape(std::string& out, unsigned code) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[code >> shift & 15U];
}

// The code of a C1 control, U+2028 or U+2029 at the start of valid UTF-8; 0 for anything else.
unsigned hidden_control(std::string_view text, std::size_t& length) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  length = byte(0) == 0xC2 ? 2 : 3;
  if (byte(0) == 0xC2) return byte(1) < 0xA0 ? byte(1) : 0U;
  return byte(1) == 0x80 && (byte(2) == 0xA8 || byte(2) == 0xA9) ? 0x1F80U + byte(2) : 0U;
}

// The escape of one character that is a single byte.
void append_escape(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      append_u_escape(out, byte);
  }
}

void append_escaped(std::string& out, std::string_view text) {
  std::size_t run = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (!kEndsRun[byte]) continue;
    out.append(text, run, at - run);
    run = at;
    if (byte >= 0x80) {
      std::size_t length = 0;
      const unsigned code = hidden_control(text.substr(at), length);
      if (code != 0) {
        append_u_escape(out, code);
        run = at + length;
      }
      at += length - 1;
      continue;
    }
    append_escape(out, byte);
    run = at + 1;
  }
  out.append(text, run, text.size() - run);
}

}  // namespace

void JsonWriter::string(std::string_view bytes) {
  separate();
  out_ += '"';
  if (is_valid_utf8(bytes)) {
    append_escaped(out_, bytes);
  } else {
    append_escaped(out_, repair_utf8(bytes));
  }
  out_ += '"';
  comma_ = true;
}

// What moves a terminal can stand in strings only.
void JsonWriter::foreign(std::string_view text) {
  separate();
  comma_ = true;
  std::size_t run = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    std::size_t length = 1;
    unsigned code = byte == 0x7F ? byte : 0U;
    if (byte == 0xC2 || byte == 0xE2) code = hidden_control(text.substr(at), length);
    if (code != 0) {
      out_.append(text, run, at - run);
      append_u_escape(out_, code);
      run = at + length;
    }
    at += length - 1;
  }
  out_.append(text, run, text.size() - run);
}

void JsonWriter::string_or_null(std::string_view bytes) {
  if (bytes.empty()) {
    null();
  } else {
    string(bytes);
  }
}

void JsonWriter::tenths(double value) {
  constexpr double kMost = 1e15;
  const double bounded = value > 0 ? std::min(value, kMost) : 0;
  const std::int64_t tenths = std::llround(bounded * 10);
  literal(std::to_string(tenths / 10));
  out_ += '.';
  out_ += static_cast<char>('0' + tenths % 10);
}

void JsonWriter::thousandths(std::int64_t value) {
  literal(std::to_string(value / 1000) + '.' + std::to_string(1000 + value % 1000).substr(1));
}

std::string json_string(std::string_view bytes) {
  std::string out;
  JsonWriter(out).string(bytes);
  return out;
}

std::string foreign_json(std::string_view text) {
  std::string out;
  JsonWriter(out).foreign(text);
  return out;
}

}  // namespace sbx
