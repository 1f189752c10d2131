// SPDX-License-Identifier: Apache-2.0
// Scope: what is plainly constant about the variables of a shell at a place of its text. A value
// may hold kHole where a part is made at run time. Values only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sbx {

struct Value {
  std::vector<std::string> items;  // one, or those of an array
  bool is_array = false;
};

class Scope {
 public:
  struct Mark {
    std::size_t log = 0;
    std::uint64_t horizon = 0;
    std::optional<std::vector<std::string>> positional;
  };

  // nullptr: not known.
  const Value* find(const std::string& name) const;
  // What unquoted values are split at; nullopt: not known.
  std::optional<std::string> separators() const;
  void set(const std::string& name, Value value);
  void forget(const std::string& name);  // "*": every one
  // The name may change at any time from here on: it is never known again.
  void distrust(const std::string& name);
  // Assigning to it may fail from here on.
  void freeze(const std::string& name) { frozen_.insert(name); }

  // A subshell or a branch: what happened in it is undone.
  Mark mark() const { return {log_.size(), horizon_, positional}; }
  void undo(const Mark& mark);

  // $1 and on, with $0 in front; nullopt: not known.
  std::optional<std::vector<std::string>> positional;

 private:
  struct Entry {
    Value value;
    std::uint64_t time = 0;
    bool is_known = false;
  };
  struct Change {
    std::string name;
    std::optional<Entry> before;
  };
  void change(const std::string& name, Entry entry);

  std::unordered_map<std::string, Entry> entries_;
  std::vector<Change> log_;
  std::unordered_set<std::string> distrusted_;
  std::unordered_set<std::string> frozen_;
  bool distrusts_all_ = false;
  std::uint64_t clock_ = 0;
  std::uint64_t horizon_ = 0;  // entries before it are forgotten
};

}  // namespace sbx
