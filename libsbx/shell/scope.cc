// SPDX-License-Identifier: Apache-2.0
// Scope: a map with an undo log; forgetting everything moves the horizon instead of the entries.
#include "shell/scope.h"

#include <algorithm>
#include <utility>

#include "shell/marks.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kMaxValueBytes = 65536;
constexpr std::size_t kMostTexts = 8;
constexpr std::size_t kMaxTextBytes = 1024;
// Of a shell in which any variable may have been given any value: what was known of it before.
constexpr std::uint32_t kAnew = 1u << 31;

// The shell itself sets these, whatever was assigned.
constexpr std::string_view kVolatile[] = {
    "_",      "RANDOM",       "SRANDOM",      "SECONDS",       "LINENO",        "BASHPID",
    "PPID",   "HISTCMD",      "EPOCHSECONDS", "EPOCHREALTIME", "FUNCNAME",      "DIRSTACK",
    "GROUPS", "PIPESTATUS",   "OLDPWD",       "OPTARG",        "OPTIND",        "REPLY",
    "UID",    "EUID",         "SHLVL",        "BASH_COMMAND",  "BASH_SUBSHELL", "COLUMNS",
    "LINES",  "BASH_REMATCH", "SHELLOPTS",    "BASHOPTS"};

bool is_volatile(std::string_view name) {
  for (const std::string_view one : kVolatile) {
    if (one == name) return true;
  }
  return false;
}

struct Default {
  std::string_view name;
  Value value;
};

// What a shell has where the text says nothing else. Another shell than bash has no RANDOM.
const Default kDefaults[] = {
    {"HOME", {{{kHome}}, false}},         {"TMPDIR", {{{kTmp}}, false}},
    {"USER", {{{kMaybe}}, false}},        {"LOGNAME", {{{kMaybe}}, false}},
    {"HOSTNAME", {{{kMaybe}}, false}},    {"UID", {{{kMaybe}}, false}},
    {"EUID", {{{kMaybe}}, false}},        {"RANDOM", {{{kName}}, false}},
    {"SRANDOM", {{{kName}}, false}},      {"SECONDS", {{{kName}}, false}},
    {"BASHPID", {{{kName}}, false}},      {"PPID", {{{kName}}, false}},
    {"EPOCHSECONDS", {{{kName}}, false}}, {"EPOCHREALTIME", {{{kName}}, false}},
    {"LINENO", {{{kName}}, false}},
};
const Value kMaybeName = {{{kMaybe}}, false};
const Value kWorkingDirectory = {{{kWorking}}, false};

}  // namespace

bool has_default(std::string_view name) {
  return std::any_of(std::begin(kDefaults), std::end(kDefaults),
                     [&](const Default& each) { return each.name == name; });
}

Scope::Scope() { entries_["PWD"] = {{{{kStart}}, false}, 0, true, true}; }

const Value* Scope::find_default(const std::string& name) const {
  if (name == "PWD") return touched_.contains(name) ? nullptr : &kWorkingDirectory;
  const auto* one = std::find_if(std::begin(kDefaults), std::end(kDefaults),
                                 [&](const Default& each) { return each.name == name; });
  if (one == std::end(kDefaults) || touched_.contains(name) || !has_defaults_) return nullptr;
  return one->value.items[0][0] == kName && !is_bash_ ? &kMaybeName : &one->value;
}

std::string Scope::key(const std::string& name) const {
  return shell_ == 0 ? name : name + '@' + std::to_string(shell_);
}

std::vector<std::string> Scope::texts(const std::string& name) const {
  const std::string key = name + '=';
  for (const History* from : {history, &made_}) {
    if (from == nullptr) continue;
    if (const auto known = from->find(key); known != from->end()) return known->second.items;
  }
  return {};
}

void Scope::note_text(const std::string& name, const std::string& text) {
  if (text.empty() || is_mark(text[0]) || text.size() > kMaxTextBytes) return;
  std::vector<std::string>& texts = made_[name + '='].items;
  if (texts.size() < kMostTexts && std::find(texts.begin(), texts.end(), text) == texts.end())
    texts.push_back(text);
}

void Scope::record(const std::string& name, const Value& value) {
  if (!value.is_array && !value.items.empty()) note_text(name, value.items[0]);
  const auto [place, is_new] = made_.try_emplace(key(name), value);
  if (is_new) return;
  Value& joined = place->second;
  if (joined.items == value.items && joined.is_array == value.is_array) return;
  joined.is_array = joined.is_array || value.is_array;
  std::vector<std::string> items = std::move(joined.items);
  items.insert(items.end(), value.items.begin(), value.items.end());
  joined.items = {join_values(items)};
}

const Value* Scope::find(const std::string& name) const {
  if (const auto known = supposed_.find(name); known != supposed_.end()) return &known->second;
  if (distrusts_all_) return nullptr;
  if (is_volatile(name)) return find_default(name);
  const auto entry = entries_.find(name);
  const bool has_entry = entry != entries_.end();
  if (has_entry && entry->second.is_known && entry->second.time >= horizon_ &&
      !distrusted_.contains(name)) {
    return &entry->second.value;
  }
  const bool has_value = is_set(name);
  if (has_value || (is_late_ && !is_unset(name))) {
    wants_history_ = true;
    if (is_late_) wanted_.insert(name);
    if (history != nullptr) {
      const auto known = history->find(key(name));
      if (known != history->end()) return &known->second;
    }
  }
  return find_default(name);
}

bool Scope::is_set(const std::string& name) const {
  const auto entry = entries_.find(name);
  return entry != entries_.end() && entry->second.is_set && entry->second.shell == shell_;
}

bool Scope::is_unset(const std::string& name) const {
  const auto entry = entries_.find(name);
  return entry != entries_.end() && entry->second.is_unset && entry->second.time >= horizon_;
}

void Scope::unset(const std::string& name) {
  doubt(name, false);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || name == "PWD") return;
  entry->second.time = ++clock_;
  entry->second.is_unset = true;
}

Scope::Names Scope::end_function(const std::string& function, Names outer) {
  outer.swap(wanted_);
  made_[key(function + "()")] = {{outer.begin(), outer.end()}, true};
  return outer;
}

void Scope::end_trap(Names outer) {
  outer.swap(wanted_);
  Value& all = made_[key(std::string(kTraps) + "()")];
  all.is_array = true;
  all.items.insert(all.items.end(), outer.begin(), outer.end());
}

bool Scope::is_made(const std::string& name) const {
  const std::string whole = key(name);
  return made_.contains(whole) || (history != nullptr && history->contains(whole));
}

std::size_t Scope::call(const std::string& function, const Names* used_up) {
  const std::string name = key(function + "()");
  const Value* wanted = nullptr;
  if (const auto known = made_.find(name); known != made_.end()) {
    wanted = &known->second;
  } else if (history != nullptr && history->contains(name)) {
    wanted = &history->at(name);
  }
  if (wanted == nullptr) return 0;
  const std::vector<std::string> names = wanted->items;  // recording may move them
  for (const std::string& each : names) {
    if (is_set(each) || (used_up != nullptr && used_up->contains(each))) continue;
    const Value* value = find_default(each);
    if (is_late_) {
      wanted_.insert(each);
    } else if (value != nullptr || is_made(each)) {
      record(each, value != nullptr ? *value : Value{{""}, false});
    }
  }
  return names.size();
}

void Scope::enter_shell(std::uint32_t id, bool is_bash) {
  forget("*");
  positional.reset();
  keeps_positional = false;
  shell_ = id + 1;
  is_late_ = false;
  is_bash_ = is_bash;
  has_own_name = true;
}

std::optional<std::string> Scope::separators() const {
  const auto entry = entries_.find("IFS");
  if (entry == entries_.end() && !distrusted_.contains("IFS")) return " \t\n";
  const Value* value = find("IFS");
  if (value == nullptr || value->items.size() != 1) return std::nullopt;
  return value->items[0];
}

void Scope::change(const std::string& name, Entry entry) {
  entry.shell = shell_;
  const auto [place, is_new] = entries_.try_emplace(name);
  log_.push_back({name, is_new ? std::nullopt : std::optional<Entry>(std::move(place->second))});
  place->second = std::move(entry);
}

void Scope::set(const std::string& name, Value value) {
  if (frozen_.contains(name)) distrust(name);
  std::size_t bytes = 0;
  for (const std::string& item : value.items) bytes += item.size() + 1;
  if (bytes > kMaxValueBytes) return forget(name);
  // It stays what it is when the directory changes.
  for (std::string& item : value.items) {
    if (item.find(kWorking) != std::string::npos) item.assign(1, kHole);
  }
  touch(name);
  record(name, value);
  change(name, {std::move(value), ++clock_, true, true});
}

void Scope::forget(const std::string& name) {
  if (name == "*") {
    horizon_ = ++clock_;
    if (!keeps_positional) positional.reset();
  } else if (name == "**") {
    forget("*");
    forget_defaults();
    const bool keeps_name = has_own_name;
    enter_shell(kAnew | shell_, is_bash_);
    has_own_name = keeps_name;
  } else {
    touch(name);
    record(name, {{{kHole}}, false});
    change(name, {{}, 0, false, true});
  }
}

void Scope::doubt(const std::string& name, bool is_set) {
  if (name == "*" || name == "**") return forget(name);
  if (name == "@") return positional.reset();
  // The shell has one, whatever is done to it.
  if (name == "PWD") return change(name, {});
  touch(name);
  change(name, {{}, 0, false, is_set});
}

void Scope::distrust(const std::string& name) {
  if (name == "*" || name == "**") {
    distrusts_all_ = true;
  } else {
    distrusted_.insert(name);
  }
}

void Scope::undo(const Mark& mark) {
  for (; log_.size() > mark.log; log_.pop_back()) {
    Change& change = log_.back();
    if (change.before) {
      entries_[change.name] = std::move(*change.before);
    } else {
      entries_.erase(change.name);
    }
  }
  horizon_ = mark.horizon;
  shell_ = mark.shell;
  is_late_ = mark.is_late;
  is_bash_ = mark.is_bash;
  has_own_name = mark.has_own_name;
  keeps_positional = mark.keeps_positional;
  positional = mark.positional;
}

}  // namespace sbx::shell
