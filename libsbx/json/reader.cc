// SPDX-License-Identifier: Apache-2.0
// A SAX handler that builds the document and stops at the first breach. nlohmann's own tree
// builder keeps the last of duplicate keys and has no depth bound. What is well-formed is read by
// our own walk, the rest by nlohmann's for its words.
#include "json/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/scan.h"
#include "json/text_at.h"
#include "json/writer.h"

namespace sbx {
namespace {

using nlohmann::json;

// A document of many small values costs far more than its bytes. execve(2) takes fewer words.
constexpr std::size_t kMaxValues = std::size_t{1} << 18;
// And finding the place of one among many costs more still.
constexpr std::size_t kMaxKeys = std::size_t{1} << 14;

// "[json.exception.parse_error.101] parse error at line 1, column 2: REASON; last read: 'BYTES'"
// without the prefix, and without the bytes, which may be ill-formed UTF-8.
std::string reason_of(std::string_view what) {
  static constexpr std::string_view kPrefix = "parse error at ";
  if (const auto at = what.find(kPrefix); at != std::string_view::npos) {
    what.remove_prefix(at + kPrefix.size());
  }
  return std::string(what.substr(0, what.find("; last read")));
}

class StrictBuilder {
 public:
  explicit StrictBuilder(std::size_t max_depth) : max_depth_(max_depth) {}

  bool null() { return put(json(nullptr)) != nullptr; }
  bool boolean(bool value) { return put(json(value)) != nullptr; }
  bool number_integer(std::int64_t value) { return put(json(value)) != nullptr; }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return put(json(value)) != nullptr;
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& text) {
    // nlohmann turns whole numbers beyond 64 bits into the nearest double.
    if (text.find_first_of(".eE") == std::string::npos) return refuse_number(text);
    return put(json(value)) != nullptr;
  }
  bool string(std::string& value) { return put(json(std::move(value))) != nullptr; }
  bool binary(const json::binary_t&) { return false; }  // never called for JSON text
  bool start_object(std::size_t) { return push(json::object()); }
  bool start_array(std::size_t) { return push(json::array()); }
  bool end_object() { return pop(); }
  bool end_array() { return pop(); }

  bool key(const std::string& key) {
    Frame& frame = stack_.back();
    auto& object = frame.node->get_ref<json::object_t&>();
    if (object.size() >= kMaxKeys) {
      return refuse(ErrorCode::kTooLarge, "more than " + std::to_string(kMaxKeys) + " keys",
                    "hand them over in a file");
    }
    const auto [place, inserted] = object.try_emplace(key);
    frame.key = &place->first;
    slot_ = &place->second;
    if (inserted) return true;
    return refuse(ErrorCode::kDuplicateKey, "the same key stands twice in one object",
                  "remove one of the two");
  }

  bool parse_error(std::size_t byte, const std::string& token, const json::exception& problem) {
    if (problem.id == 406) return refuse_number(token);  // number overflow
    error_ = Error{.code = ErrorCode::kBadJson,
                   .message = "not valid JSON: " + reason_of(problem.what()) + " (byte " +
                              std::to_string(byte) + ")",
                   .where = "",
                   .hint = token.ends_with('/') ? "JSON has no comments: take it out" : ""};
    return false;
  }

  bool refuse_number(const std::string& text) {
    if (!stack_.empty() && stack_.back().node->is_array()) put(json(nullptr));
    return refuse(ErrorCode::kOutOfRange,
                  "the number " + text.substr(0, 40) + " does not fit in 64 bits", "");
  }

  Result<json> take() && {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  struct Frame {
    json* node;
    const std::string* key;  // of the value being read, in an object
  };

  json* put(json&& value) {
    if (stack_.empty()) return &(root_ = std::move(value));
    if (++values_ > kMaxValues) {
      refuse(ErrorCode::kTooLarge, "more than " + std::to_string(kMaxValues) + " values",
             "hand them over in a file");
      return nullptr;
    }
    json& parent = *stack_.back().node;
    if (parent.is_object()) return &(*slot_ = std::move(value));
    auto& array = parent.get_ref<json::array_t&>();
    array.push_back(std::move(value));
    return &array.back();
  }

  bool push(json&& container) {
    json* node = put(std::move(container));
    if (node == nullptr) return false;
    if (stack_.size() >= max_depth_) {
      return refuse(ErrorCode::kTooDeep,
                    "nested deeper than " + std::to_string(max_depth_) + " levels", "");
    }
    stack_.push_back({node, nullptr});
    return true;
  }

  bool pop() {
    stack_.pop_back();
    return true;
  }

  bool refuse(ErrorCode code, std::string message, std::string hint) {
    std::string where;
    for (const Frame& frame : stack_) {
      if (frame.node->is_array()) {
        where += "/" + std::to_string(frame.node->size() - 1);
      } else if (frame.key != nullptr) {
        append_to_pointer(where, *frame.key);
      }
    }
    error_ = Error{.code = code,
                   .message = std::move(message),
                   .where = std::move(where),
                   .hint = std::move(hint)};
    return false;
  }

  std::size_t max_depth_;
  std::size_t values_ = 0;
  json root_;
  std::vector<Frame> stack_;
  json* slot_ = nullptr;  // where the value of the last key goes
  std::optional<Error> error_;
};

// --- text that is known to be well-formed ---

bool is_well_formed(std::string_view text) {
  if (!is_valid_utf8(text)) return false;
  JsonScan scan(text);
  if (!scan.value()) return false;
  scan.skip_space();
  return scan.at_end();
}

unsigned hex4(std::string_view digits) {
  unsigned value = 0;
  std::from_chars(digits.data(), digits.data() + 4, value, 16);
  return value;
}

void append_character(std::string& out, unsigned code) {
  const auto add = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

// nlohmann's own reader takes a string byte by byte, and a request may be one of 16 MiB, while all
// that a server does waits for it. Calls the builder as that one does.
class TextReader {
 public:
  TextReader(std::string_view text, StrictBuilder& builder) : text_(text), builder_(builder) {}

  void read() {
    bool goes_on = true;
    while (goes_on && at_ < text_.size()) goes_on = token(text_[at_]);
  }

 private:
  bool token(char c) {
    switch (c) {
      case '{':
      case '[':
        ++at_;
        in_object_.push_back(c == '{');
        is_key_ = c == '{';
        return c == '{' ? builder_.start_object(0) : builder_.start_array(0);
      case '}':
      case ']':
        ++at_;
        in_object_.pop_back();
        return c == '}' ? builder_.end_object() : builder_.end_array();
      case ',':
        ++at_;
        is_key_ = in_object_.back();
        return true;
      case '"':
        return string();
      case 't':
        at_ += 4;
        return builder_.boolean(true);
      case 'f':
        at_ += 5;
        return builder_.boolean(false);
      case 'n':
        at_ += 4;
        return builder_.null();
      case '-':
        return number();
      default:
        if (is_digit(c)) return number();
        ++at_;  // blanks and colons
        return true;
    }
  }

  bool string() {
    std::string value;
    ++at_;
    for (;;) {
      const std::size_t end = end_of_plain(text_, at_);
      value.append(text_, at_, end - at_);
      at_ = end + 1;
      if (text_[end] == '"') break;
      escape(value);
    }
    if (!std::exchange(is_key_, false)) return builder_.string(value);
    return builder_.key(value);
  }

  // Behind the backslash.
  void escape(std::string& value) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
    const char name = text_[at_++];
    if (name != 'u') {
      value += kBytes[kNames.find(name)];
      return;
    }
    unsigned code = hex4(text_.substr(at_));
    at_ += 4;
    if (code >= 0xD800 && code <= 0xDBFF) {
      code = 0x10000 + ((code - 0xD800) << 10) + (hex4(text_.substr(at_ + 2)) - 0xDC00);
      at_ += 6;
    }
    append_character(value, code);
  }

  bool number() {
    const std::size_t end = std::min(text_.find_first_of(",]} \t\n\r", at_), text_.size());
    const std::size_t begin = std::exchange(at_, end);
    const std::string_view text = text_.substr(begin, end - begin);
    if (text.find_first_of(".eE") == std::string_view::npos) {
      if (text.front() == '-') {
        std::int64_t value = 0;
        if (is_whole(text, value)) return builder_.number_integer(value);
      } else {
        std::uint64_t value = 0;
        if (is_whole(text, value)) return builder_.number_unsigned(value);
      }
      return builder_.number_float(0, std::string(text));
    }
    const std::string digits(text);
    const double value = std::strtod(digits.c_str(), nullptr);
    return std::isfinite(value) ? builder_.number_float(value, digits)
                                : builder_.refuse_number(digits);
  }

  template <typename Number>
  static bool is_whole(std::string_view text, Number& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  }

  std::string_view text_;
  StrictBuilder& builder_;
  std::size_t at_ = 0;
  std::vector<bool> in_object_;
  bool is_key_ = false;
};

}  // namespace

Result<json> read_json_strict(std::string_view bytes, const JsonBounds& bounds) {
  if (bytes.size() > bounds.max_bytes) {
    return Error{.code = ErrorCode::kTooLarge,
                 .message = std::to_string(bytes.size()) + " bytes of JSON, over the bound of " +
                            std::to_string(bounds.max_bytes),
                 .where = "",
                 .hint = ""};
  }
  // nlohmann takes it for the end of the text.
  if (const std::size_t nul = bytes.find('\0'); nul != std::string_view::npos) {
    return Error{.code = ErrorCode::kBadJson,
                 .message = "not valid JSON: a NUL byte (byte " + std::to_string(nul + 1) + ")",
                 .where = "",
                 .hint = ""};
  }
  StrictBuilder builder(bounds.max_depth);
  if (is_well_formed(bytes)) {
    TextReader(bytes, builder).read();
  } else {
    json::sax_parse(bytes.data(), bytes.data() + bytes.size(), &builder);  // says what is wrong
  }
  return std::move(builder).take();
}

namespace {

// By the parser that is there already: parse() would bring one more for each kind of value, and
// what calls back.
template <typename Json>
Json parse_known(std::string_view text) {
  Json out;
  nlohmann::detail::json_sax_dom_parser<Json> builder(out, false);
  const bool is_good = json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return is_good ? out : Json(Json::value_t::discarded);
}

}  // namespace

json parse_json(std::string_view text) { return parse_known<json>(text); }
nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return parse_known<nlohmann::ordered_json>(text);
}

void change_escaped_strings(std::string& json,
                            const std::function<void(const std::vector<std::string*>&)>& change) {
  const std::string_view text = json;
  std::vector<std::string_view> places;
  std::vector<std::string> strings;
  for (std::size_t at = text.find('"'); at != std::string_view::npos;) {
    const std::optional<std::string_view> string = JsonScan(text.substr(at)).string();
    if (!string) return;
    if (string->find("\\u") != std::string_view::npos) {
      places.push_back(*string);
      strings.push_back(parse_json(*string).get<std::string>());
    }
    at = text.find('"', at + string->size());
  }
  const std::vector<std::string> before = strings;
  std::vector<std::string*> pointers;
  pointers.reserve(strings.size());
  for (std::string& string : strings) pointers.push_back(&string);
  change(pointers);
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i] == before[i]) continue;
    const auto begin = static_cast<std::size_t>(places[i].data() - text.data());
    out.append(text.substr(done, begin - done)).append(json_string(strings[i]));
    done = begin + places[i].size();
  }
  if (done > 0) json = out.append(text.substr(done));
}

Error read_error(const nlohmann::json& written, ErrorCode otherwise) {
  return {error_code_of(text_at(written, "code")).value_or(otherwise), text_at(written, "message"),
          text_at(written, "where"), text_at(written, "hint")};
}

void append_to_pointer(std::string& pointer, std::string_view key) {
  pointer += '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

}  // namespace sbx
