// SPDX-License-Identifier: Apache-2.0
// A line for each value, by its path; long ones are wrapped, never cut.
#include "review.h"

#include <algorithm>

#include "cells.h"
#include "json/text_at.h"

namespace sbx {
namespace {

using nlohmann::json;

// On one line, whatever is in it.
std::string one_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool holds_objects(const json& list) {
  return std::any_of(list.begin(), list.end(), [](const json& item) { return item.is_object(); });
}

}  // namespace

Review::Review(const std::string& session, const json& asked) {
  add("session    " + session);
  add("asked at   " + text_at(asked, "asked_at"));
  add("digest     " + text_at(asked, "digest"));
  if (text_at(asked, "kind") == "http") {
    add("request    " + text_at(asked, "method") + " " + text_at(asked, "url"));
    const auto size = asked.find("size");
    add("body       " + (size == asked.end() || size->is_null() ? "of a size not known"
                                                                : one_line(*size) + " bytes"));
    add("rule       " + text_at(asked, "rule"));
  } else {
    for (const json& rule : asked.value("rules", json::array())) {
      add("why        " + text_at(rule, "reason") + " (" + text_at(rule, "id") + ")");
    }
    add("");
    add("command:");
    const std::string command = text_at(asked, "command");
    for (std::size_t begin = 0; begin <= command.size();) {
      const std::size_t end = std::min(command.find('\n', begin), command.size());
      add("  " + command.substr(begin, end - begin));
      begin = end + 1;
    }
    add("");
    add("all that the digest covers:");
    const auto covers = asked.find("covers");
    if (covers != asked.end()) {
      for (const char* const name : {"request", "cwd", "policy"}) {
        if (covers->contains(name)) add_value(name, covers->at(name));
      }
    }
  }
  seen_.resize(whole_.size());
}

void Review::add(const std::string& text) { whole_.push_back(to_cells(text, Unseen::kEscape)); }

void Review::add_value(const std::string& name, const json& value) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) add_value(name + "." + key, item);
  } else if (value.is_array() && holds_objects(value)) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      add("  " + name + "[" + std::to_string(i) + "] = " + one_line(value[i]));
    }
  } else {
    add("  " + name + " = " + one_line(value));
  }
}

void Review::fit(int columns) {
  if (columns == columns_) return;
  columns_ = columns;
  lines_.clear();
  pieces_.clear();
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    for (std::wstring& line : wrap(whole_[i], columns)) {
      lines_.push_back(std::move(line));
      pieces_.push_back({i, seen_[i]});
    }
  }
}

// A whole line is seen when each of its pieces is.
void Review::note_seen(std::size_t first, std::size_t count) {
  const std::size_t last = std::min(first + count, pieces_.size());
  for (std::size_t i = first; i < last; ++i) pieces_[i].is_seen = true;
  seen_.assign(whole_.size(), true);
  for (const Piece& piece : pieces_) {
    if (!piece.is_seen) seen_[piece.of] = false;
  }
}

bool Review::is_seen() const {
  return std::all_of(seen_.begin(), seen_.end(), [](bool seen) { return seen; });
}

}  // namespace sbx
