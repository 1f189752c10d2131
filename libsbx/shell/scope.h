// SPDX-License-Identifier: Apache-2.0
// Scope: what is plainly constant about the variables of a shell at a place of its text. A value
// may hold marks where a part is made at run time. Values only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sbx::shell {

struct Value {
  std::vector<std::string> items;  // one, or those of an array
  bool is_array = false;
  friend bool operator==(const Value&, const Value&) = default;
};

// What is assigned to each variable anywhere in a text: where the order of the text does not tell
// which it is (loops, branches, functions, traps), it is one of them. Under "NAME()": the variables
// that the body of a function takes from outside; under "NAME=": Scope::texts.
using History = std::unordered_map<std::string, Value>;

// Whether a shell has a value of that name where the text says nothing else.
bool has_default(std::string_view name);

class Scope {
 public:
  Scope();
  struct Mark {
    std::size_t log = 0;
    std::uint64_t horizon = 0;
    std::uint32_t shell = 0;
    bool is_late = false;
    bool is_bash = true;
    bool has_own_name = true;
    bool keeps_positional = false;
    std::optional<std::vector<std::string>> positional;
  };

  // nullptr: not known.
  const Value* find(const std::string& name) const;
  // What unquoted values are split at; nullopt: not known.
  std::optional<std::string> separators() const;
  void set(const std::string& name, Value value);
  void forget(const std::string& name);  // its value is not known; "*", "**": of all
  // It may or may not have been given what is assigned to it elsewhere in the text; "@": $1 and on.
  void doubt(const std::string& name, bool is_set);
  // Whether it has been given some value by the text on every way to here.
  bool is_set(const std::string& name) const;
  // It has no value here, whatever is assigned to it elsewhere: unset, or local and not yet given
  // one.
  void unset(const std::string& name);
  bool is_unset(const std::string& name) const;
  // The first texts that it is given anywhere, whichever of them it has where it is not known.
  std::vector<std::string> texts(const std::string& name) const;
  void note_text(const std::string& name, const std::string& text);
  // It is this, whatever is assigned to it, until that is taken back.
  void suppose(const std::string& name, std::string text) {
    supposed_[name] = {{std::move(text)}, false};
  }
  void end_supposing(const std::string& name) { supposed_.erase(name); }
  // The text says what it is, for another program.
  void touch(const std::string& name) { touched_.insert(name); }
  // Nor is what a shell has where the text says nothing else known from here on.
  void forget_defaults() { has_defaults_ = false; }
  bool has_defaults() const { return has_defaults_; }
  // Another shell begins, which has no variables of this one but those that the environment has.
  void enter_shell(std::uint32_t id, bool is_bash);
  // What follows runs at another time: a function, a trap.
  void enter_later() {
    is_late_ = true;
    positional.reset();
  }
  bool is_late() const { return is_late_; }
  // A function: the variables that its body takes from outside, begun and ended around the body.
  using Names = std::set<std::string>;
  Names begin_function() { return std::exchange(wanted_, {}); }
  Names end_function(const std::string& function, Names outer);
  // A trap: the same, of all the traps together; they run where the shell exits.
  void end_trap(Names outer);
  std::size_t exit() { return call(kTraps); }
  // The shell ends here; `used_up`: what its functions have unset, which was of use before.
  std::size_t end(const Names& used_up) { return call(kTraps, &used_up); }
  // It is called here, where some of them may have no value yet; how many it takes.
  std::size_t call(const std::string& function, const Names* used_up = nullptr);
  // The name may change at any time from here on: it is never known again.
  void distrust(const std::string& name);
  bool is_distrusted(const std::string& name) const { return distrusted_.contains(name); }
  void trust(const std::string& name) { distrusted_.erase(name); }
  // Assigning to it may fail from here on.
  void freeze(const std::string& name) { frozen_.insert(name); }

  // A subshell or a branch: what happened in it is undone.
  Mark mark() const {
    return {log_.size(), horizon_,     shell_,           is_late_,
            is_bash_,    has_own_name, keeps_positional, positional};
  }
  void undo(const Mark& mark);

  // Of a reading of the same text before this one; null: this is the first.
  const History* history = nullptr;
  // Whether a variable was looked for that the history may tell.
  bool wants_history() const { return wants_history_; }
  History take_history() { return std::move(made_); }

  // $1 and on, with $0 in front; nullopt: not known.
  std::optional<std::vector<std::string>> positional;
  // The function that is read was given them: what is not known leaves them alone.
  bool keeps_positional = false;
  bool has_own_name = true;  // $0 is what the shell is called, not what was given behind -c

 private:
  struct Entry {
    Value value;
    std::uint64_t time = 0;
    bool is_known = false;
    bool is_set = false;
    bool is_unset = false;
    std::uint32_t shell = 0;  // in which this was said
  };
  struct Change {
    std::string name;
    std::optional<Entry> before;
  };
  static constexpr const char* kTraps = "trap ";  // no function has this name

  void change(const std::string& name, Entry entry);
  void record(const std::string& name, const Value& value);
  std::string key(const std::string& name) const;
  bool is_made(const std::string& name) const;  // the text assigns it somewhere
  const Value* find_default(const std::string& name) const;

  std::unordered_map<std::string, Entry> entries_;
  std::vector<Change> log_;
  std::unordered_map<std::string, Value> supposed_;
  std::unordered_set<std::string> distrusted_;
  std::unordered_set<std::string> frozen_;
  bool distrusts_all_ = false;
  std::uint64_t clock_ = 0;
  std::uint64_t horizon_ = 0;  // entries before it are forgotten
  std::unordered_set<std::string> touched_;
  History made_;
  mutable Names wanted_;
  std::uint32_t shell_ = 0;  // which shell of the text this is
  bool is_late_ = false;
  bool is_bash_ = true;
  bool has_defaults_ = true;
  mutable bool wants_history_ = false;
};

}  // namespace sbx::shell
