// SPDX-License-Identifier: Apache-2.0
// The forms of a value. Most values have no special characters, and then most forms are the same.
#include "output/exact_values.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string_view>

#include "base/percent.h"
#include "base/utf8.h"
#include "json/base64.h"

namespace sbx {
namespace {

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

template <typename... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, format, numbers...);
  return {text, static_cast<std::size_t>(length)};
}

std::string with_replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string backslashed(std::string_view value, std::string_view special) {
  std::string out;
  for (const char c : value) {
    if (is_one_of(c, special)) out += '\\';
    out += c;
  }
  return out;
}

// As JSON's own escapes; bytes of `more` by their numbers too.
std::string json_escaped(std::string_view value, std::string_view more,
                         const char* format = "\\u%04x") {
  std::string out;
  for (const char c : value) {
    const std::size_t named = std::string_view("\"\\\n\r\t\b\f").find(c);
    if (is_one_of(c, more) ||
        (named == std::string_view::npos && static_cast<unsigned char>(c) < 0x20)) {
      out += formatted(format, static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else if (named != std::string_view::npos) {
      out += {'\\', "\"\\nrtbf"[named]};
    } else {
      out += c;
    }
  }
  return out;
}

// One valid character that is not ASCII as \uNNNN, or as a surrogate pair.
std::string unicode_escape(std::string_view character, const char* format) {
  std::uint32_t code = static_cast<unsigned char>(character[0]) & (0xFFU >> (character.size() + 1));
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  if (code < 0x10000) return formatted(format, code);
  code -= 0x10000;
  return formatted(format, 0xD800U + (code >> 10)) + formatted(format, 0xDC00U + (code & 0x3FFU));
}

std::string with_unicode_escaped(std::string_view text, const char* format) {
  if (!is_valid_utf8(text)) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    out += length == 1 ? std::string(1, text[at]) : unicode_escape(text.substr(at, length), format);
    at += length;
  }
  return out;
}

class Forms {
 public:
  void add_value(std::string_view value) {
    add(std::string(value));
    for (std::size_t shift = 0; shift < 3; ++shift) add_base64(value, shift);
    for (const std::size_t width : {64U, 76U}) add_wrapped_base64(value, width);
    add_url_forms(value);
    add_json_forms(value);
    add_shell_forms(value);
  }

  std::vector<ExactForm> take() const {
    std::vector<ExactForm> forms;
    forms.reserve(forms_.size());
    for (const auto& [text, base64] : forms_) forms.push_back({text, base64});
    return forms;
  }

 private:
  void add(std::string text, bool base64 = false) {
    if (text.size() >= kShortestExactValue) forms_.emplace(std::move(text), base64);
  }

  // The letters that depend on nothing but the value, when `shift` bytes stand before it.
  void add_base64(std::string_view value, std::size_t shift) {
    const std::string encoded = base64_encode(std::string(shift, '\0').append(value));
    const std::size_t first = shift == 0 ? 0 : shift + 1;
    const std::size_t last = (shift + value.size()) * 8 / 6;
    std::string core = encoded.substr(first, last - first);
    add(with_replaced(with_replaced(core, "+", "-"), "/", "_"), true);
    add(std::move(core), true);
  }

  // base64(1), openssl and MIME break lines: the lines of the value by itself. A short last one
  // says little, and would be found where it does not belong.
  void add_wrapped_base64(std::string_view value, std::size_t width) {
    const std::string encoded = base64_encode(value);
    if (encoded.size() <= width) return;
    constexpr std::size_t kTelling = 16;
    for (std::size_t at = 0; at < encoded.size(); at += width) {
      std::string line = encoded.substr(at, width);
      line.erase(std::min(line.find('='), line.size()));
      if (line.size() >= kTelling) add(std::move(line), true);
    }
  }

  void add_url_forms(std::string_view value) {
    for (const bool upper : {true, false}) {
      add(percent_encoded(value, "", upper));
      add(percent_encoded(value, "/", upper));
      add(percent_encoded(value, "!'()*", upper));
      add(with_replaced(percent_encoded(value, "", upper), "%20", "+"));
    }
  }

  void add_json_forms(std::string_view value) {
    if (with_unicode_escaped(json_escaped(value, "<>&='\"+`/"), "\\u%04x") == value) return;
    add(json_escaped(json_escaped(value, ""), ""));
    // What encoders escape besides: nothing; Go; Gson; Newtonsoft and PHP where they are told to;
    // .NET.
    for (const std::string_view more : {"", "<>&", "<>&='", "<>&'\"", "<>&'\"+`"}) {
      for (const char* const format : {"\\u%04x", "\\u%04X"}) {
        const std::string escaped = json_escaped(value, more, format);
        for (const std::string& form : {escaped, with_unicode_escaped(escaped, format)}) {
          add(form);
          add(with_replaced(form, "/", "\\/"));
        }
      }
    }
    add(backslashed(value, "\\"));
    add(backslashed(value, "\\'"));
  }

  void add_shell_forms(std::string_view value) {
    add(with_replaced(std::string(value), "'", "'\\''"));
    add(with_replaced(std::string(value), "'", "'\"'\"'"));
    add(backslashed(value, "\"$`\\"));
    add(backslashed(value, " \t!\"#$&'()*,;<>?[\\]^`{|}~"));
    add(backslashed(value, " \t!\"#$&'()*;<>?[\\]^`{|}"));
    add(with_replaced(with_replaced(backslashed(value, "\\'"), "\n", "\\n"), "\t", "\\t"));
  }

  std::map<std::string, bool> forms_;
};

}  // namespace

std::vector<ExactForm> exact_forms(const std::vector<std::string>& values) {
  Forms forms;
  for (const std::string_view value : values) {
    if (value.size() >= kShortestExactValue) forms.add_value(value);
    if (value.find('\n') == std::string_view::npos) continue;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t end = std::min(value.find('\n', at), value.size());
      std::string_view line = value.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.size() >= kShortestExactValue) forms.add_value(line);
      at = end + 1;
    }
  }
  return forms.take();
}

}  // namespace sbx
