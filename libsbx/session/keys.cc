// SPDX-License-Identifier: Apache-2.0
// One row a key. With a modifier: CSI 1 ; N X, or CSI NUMBER ; N ~.
#include "session/keys.h"

#include <strings.h>

#include <vector>

#include "base/text.h"

namespace sbx {
namespace {

struct Key {
  std::string_view name;
  std::string_view text;  // what it sends
  char last = 0;          // of CSI 1 ; N X
  int number = 0;         // of CSI NUMBER ~
};
constexpr Key kKeys[] = {
    {"Up", "", 'A'},       {"Down", "", 'B'},    {"Right", "", 'C'},   {"Left", "", 'D'},
    {"Home", "", 'H'},     {"End", "", 'F'},     {"Insert", "", 0, 2}, {"Delete", "", 0, 3},
    {"Del", "", 0, 3},     {"PageUp", "", 0, 5}, {"PgUp", "", 0, 5},   {"PageDown", "", 0, 6},
    {"PgDn", "", 0, 6},    {"F1", "", 'P'},      {"F2", "", 'Q'},      {"F3", "", 'R'},
    {"F4", "", 'S'},       {"F5", "", 0, 15},    {"F6", "", 0, 17},    {"F7", "", 0, 18},
    {"F8", "", 0, 19},     {"F9", "", 0, 20},    {"F10", "", 0, 21},   {"F11", "", 0, 23},
    {"F12", "", 0, 24},    {"Enter", "\r"},      {"Return", "\r"},     {"Tab", "\t"},
    {"BackTab", "\x1b[Z"}, {"Escape", "\x1b"},   {"Esc", "\x1b"},      {"Space", " "},
    {"Backspace", "\x7f"}, {"BSpace", "\x7f"},
};

const Key* find_key(std::string_view name) {
  for (const Key& key : kKeys) {
    if (key.name.size() == name.size() &&
        strncasecmp(key.name.data(), name.data(), name.size()) == 0) {
      return &key;
    }
  }
  return nullptr;
}

struct Modifiers {
  bool shift = false;
  bool alt = false;
  bool control = false;
  int number() const { return 1 + (shift ? 1 : 0) + (alt ? 2 : 0) + (control ? 4 : 0); }
};

std::string special(const Key& key, const Modifiers& with, bool has_application_cursor) {
  const int number = with.number();
  if (!key.text.empty()) {
    if (key.name == "Tab" && with.shift) return "\x1b[Z";
    std::string text = with.alt ? "\x1b" : "";
    if (with.control && key.text == " ") return text + std::string(1, '\0');
    if (with.control && key.text == "\x7f") return text + "\b";
    return text + std::string(key.text);
  }
  if (key.last == 0) {
    const std::string text = "\x1b[" + std::to_string(key.number);
    return number == 1 ? text + "~" : text + ";" + std::to_string(number) + "~";
  }
  if (number != 1) return "\x1b[1;" + std::to_string(number) + key.last;
  const bool is_function = key.last >= 'P' && key.last <= 'S';
  return std::string(is_function || has_application_cursor ? "\x1bO" : "\x1b[") + key.last;
}

// One character, with Ctrl where it has such a form. Empty: it has none.
std::string plain(std::string_view character, const Modifiers& with) {
  std::string text = with.alt ? "\x1b" : "";
  if (!with.control) return text + std::string(character);
  if (character.size() != 1) return "";
  const char c = character[0];
  if (c == '?') return text + "\x7f";
  if ((c >= '@' && c <= '_') || (c >= 'a' && c <= 'z')) return text + static_cast<char>(c & 0x1f);
  return "";
}

bool is_one_character(std::string_view text) {
  if (text.empty()) return false;
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80) ++size;
  return size == text.size();
}

Error unknown_key(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) names.push_back(key.name);
  const auto nearest = nearest_name(name, names);
  return Error{ErrorCode::kBadValue, "no such key: " + escape_control_bytes(name.substr(0, 100)),
               "/keys",
               nearest ? "did you mean " + std::string(*nearest) + "?"
                       : "such as Up, Enter, Escape, F1, C-c, M-x or one character; text is typed "
                         "with `text`"};
}

}  // namespace

Result<std::string> key_bytes(std::string_view names, bool has_application_cursor) {
  std::string out;
  for (const std::string_view word : split(names, ' ')) {
    if (word.empty()) continue;
    std::string_view name = word;
    Modifiers with;
    while (name.size() > 2 && name[1] == '-') {
      bool* const which = name[0] == 'C'   ? &with.control
                          : name[0] == 'M' ? &with.alt
                          : name[0] == 'S' ? &with.shift
                                           : nullptr;
      if (which == nullptr) break;
      *which = true;
      name.remove_prefix(2);
    }
    if (const Key* const key = find_key(name)) {
      out += special(*key, with, has_application_cursor);
      continue;
    }
    const std::string text = is_one_character(name) ? plain(name, with) : "";
    if (text.empty()) return unknown_key(word);
    out += text;
  }
  return out;
}

}  // namespace sbx
