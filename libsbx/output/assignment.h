// SPDX-License-Identifier: Apache-2.0
// Assignments in any of the ways that text shows them (NAME=value, "name": "value", name => 'v',
// --name value, <name>value</name>, ?name=value&…, get("NAME", "default"), setName("value")), and
// whether one holds a secret. Values only.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sbx {

struct NamedValue {
  std::string_view name;
  std::string_view value;       // without its quotes
  std::size_t value_begin = 0;  // in the line
  std::size_t value_end = 0;    // what to take out if it is a secret: a line of `env` to its end
  bool quoted = false;
  bool braced = false;      // Pwd={value}; as ODBC has it
  bool backquoted = false;  // a template of JavaScript, or a shell's command
  bool spaced = false;      // space before the operator, as code has it
  bool tight = false;       // name=value without spaces
  bool env_style = false;   // NAME=value with nothing before it on the line
  bool own_word = false;    // NAME=value with a blank or nothing before it
  bool flag = false;        // --name value, --name=value
  bool whole_line = false;  // the line holds nothing else
  bool listed = false;      // name=value;name=value, or in the query of a URL
  bool in_code = false;     // followed or preceded by what only code has
  bool argument = false;    // f("NAME", "value"), setName("value"), NAME || "value"
  std::string_view lead;    // the word before the name: "cache" in `cache key: x`
};

// How far around a name the line is read at first: enough to judge a value by its beginning.
inline constexpr std::size_t kNear = 1024;

// The assignment whose name covers line[at], which is read no further than `reach` bytes around it;
// nullopt where there is none, or a file's name. A line of a shell's goes on behind the value.
std::optional<NamedValue> read_assignment(std::string_view line, std::size_t at, std::size_t reach,
                                          bool is_shell = false);

// Whether the name says secret, password, token or key, and the value may be one: not a
// reference, a placeholder, a path, a word of prose or, for a weak name such as `key`, a hash.
bool holds_secret(const NamedValue& assignment);

// Whether the name ends in something that is no secret, such as key_id, token_type, secret_name.
bool names_something_else(std::string_view name);

// Whether the name says password or secret: its value may hold any character.
bool names_password(std::string_view name);

// Shannon entropy of the bytes, in bits a byte.
double entropy_of(std::string_view text);

}  // namespace sbx
