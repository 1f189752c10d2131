// SPDX-License-Identifier: Apache-2.0
// Scope: a map with an undo log; forgetting everything moves the horizon instead of the entries.
#include "guard/scope.h"

#include <utility>

namespace sbx {
namespace {

constexpr std::size_t kMaxValueBytes = 65536;

// The shell itself sets these, whatever was assigned.
constexpr std::string_view kVolatile[] = {
    "_",       "RANDOM",     "SRANDOM",      "SECONDS",       "LINENO",       "BASHPID",
    "PPID",    "HISTCMD",    "EPOCHSECONDS", "EPOCHREALTIME", "FUNCNAME",     "DIRSTACK",
    "GROUPS",  "PIPESTATUS", "PWD",          "OLDPWD",        "OPTARG",       "OPTIND",
    "REPLY",   "UID",        "EUID",         "SHLVL",         "BASH_COMMAND", "BASH_SUBSHELL",
    "COLUMNS", "LINES",      "BASH_REMATCH", "SHELLOPTS",     "BASHOPTS"};

bool is_volatile(std::string_view name) {
  for (const std::string_view one : kVolatile) {
    if (one == name) return true;
  }
  return false;
}

}  // namespace

const Value* Scope::find(const std::string& name) const {
  if (distrusts_all_ || distrusted_.contains(name) || is_volatile(name)) return nullptr;
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || !entry->second.is_known || entry->second.time < horizon_) {
    return nullptr;
  }
  return &entry->second.value;
}

std::optional<std::string> Scope::separators() const {
  const auto entry = entries_.find("IFS");
  if (entry == entries_.end() && !distrusted_.contains("IFS")) return " \t\n";
  const Value* value = find("IFS");
  if (value == nullptr || value->items.size() != 1) return std::nullopt;
  return value->items[0];
}

void Scope::change(const std::string& name, Entry entry) {
  const auto [place, is_new] = entries_.try_emplace(name);
  log_.push_back({name, is_new ? std::nullopt : std::optional<Entry>(std::move(place->second))});
  place->second = std::move(entry);
}

void Scope::set(const std::string& name, Value value) {
  if (frozen_.contains(name)) distrust(name);
  std::size_t bytes = 0;
  for (const std::string& item : value.items) bytes += item.size() + 1;
  if (bytes > kMaxValueBytes) return forget(name);
  change(name, {std::move(value), ++clock_, true});
}

void Scope::forget(const std::string& name) {
  if (name == "*") {
    horizon_ = ++clock_;
    positional.reset();
  } else {
    change(name, {});
  }
}

void Scope::distrust(const std::string& name) {
  if (name == "*") {
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
  positional = mark.positional;
}

}  // namespace sbx
