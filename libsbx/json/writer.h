// SPDX-License-Identifier: Apache-2.0
// JsonWriter: values → JSON text, appended to a string without a document in between (a cold
// launch pays for every allocation). Commas are its own business; balance is the caller's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbx {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  // Room for a value of about that many bytes.
  void reserve(std::size_t bytes) { out_.reserve(out_.size() + bytes); }
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  // The next value's name.
  void key(std::string_view name) {
    string(name);
    out_ += ':';
    comma_ = false;
  }

  // Any bytes: ill-formed UTF-8 is repaired. C0, DEL and C1 control characters are escaped, so
  // that an answer shown on a terminal moves nothing; U+2028 and U+2029 too, since Node's readline
  // and Python's splitlines take them for the end of the line.
  void string(std::string_view bytes);
  void string_or_null(std::string_view bytes);  // empty: null
  void null() { literal("null"); }
  // A text that is JSON already.
  void verbatim(std::string_view text) { literal(text); }
  // One that somebody else wrote: what string() escapes for a terminal's sake is escaped in it too.
  void foreign(std::string_view text);
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void integer(std::int64_t value) { literal(std::to_string(value)); }
  void count(std::uint64_t value) { literal(std::to_string(value)); }
  // Rounded to one decimal; negative and NaN are 0.
  void tenths(double value);
  // So many thousandths, with all three decimals. Not negative.
  void thousandths(std::int64_t value);

 private:
  void literal(std::string_view text) {
    separate();
    out_ += text;
    comma_ = true;
  }
  void open(char bracket) {
    separate();
    out_ += bracket;
    comma_ = false;
  }
  void close(char bracket) {
    out_ += bracket;
    comma_ = true;
  }
  void separate() {
    if (comma_) out_ += ',';
  }

  std::string& out_;
  bool comma_ = false;  // a value stands before this place
};

// One text as JSON, as string() writes it.
std::string json_string(std::string_view bytes);
// Another's JSON, as foreign() writes it.
std::string foreign_json(std::string_view text);

}  // namespace sbx
