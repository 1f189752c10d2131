// SPDX-License-Identifier: Apache-2.0
// A title, what the page shows, and the keys at the bottom; whatever the size.
#include <wchar.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "cells.h"
#include "json/text_at.h"
#include "top.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr int kLeastForPane = 14;  // rows

double number_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number() ? found->get<double>()
                                                                           : 0;
}

std::wstring wide(const std::string& text) { return to_cells(text, Unseen::kDrop); }

std::string time_text(double seconds) {
  const auto whole = static_cast<long>(seconds);
  std::array<char, 32> text{};
  if (whole >= 3600) {
    snprintf(text.data(), text.size(), "%ldh%02ldm", whole / 3600, whole / 60 % 60);
  } else {
    snprintf(text.data(), text.size(), "%ld:%02ld", whole / 60, whole % 60);
  }
  return text.data();
}

std::string memory_text(std::int64_t kb) {
  if (kb < 10'000) return std::to_string(kb) + "K";
  if (kb < 10'000'000) return std::to_string(kb / 1024) + "M";
  return std::to_string(kb / 1024 / 1024) + "G";
}

struct Column {
  const wchar_t* title;
  int width;
  int from;  // a terminal so wide has it
};
// Behind them, the command.
constexpr std::array<Column, 8> kColumns = {{{L"SESSION", 10, 0},
                                             {L"TASK", 8, 90},
                                             {L"STATE", 9, 30},
                                             {L"TIME", 7, 60},
                                             {L"CPU%", 5, 50},
                                             {L"MEMORY", 6, 70},
                                             {L"DENIED", 6, 80},
                                             {L"CONN", 4, 100}}};

}  // namespace

std::wstring Top::row_text(const Row& row) const {
  std::array<std::string, kColumns.size()> values;
  values[0] = row.session;
  values[1] = row.id.substr(0, 8);
  values[2] = row.state;
  if (!row.is_approval) {
    values[3] = time_text(number_at(row.data, "uptime_seconds"));
    values[4] = row.use ? std::to_string(std::lround(row.use->cpu_percent)) : "-";
    values[5] = row.use ? memory_text(row.use->memory_kb) : "-";
    values[6] = std::to_string(static_cast<int>(number_at(row.data, "denials")));
    values[7] = std::to_string(static_cast<int>(number_at(row.data, "connections")));
  }
  std::wstring text;
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (canvas_.columns() < kColumns[i].from) continue;
    text += cut(wide(values[i]), kColumns[i].width, true) + L' ';
  }
  const std::string what = text_at(row.data, "kind") == "http"
                               ? text_at(row.data, "method") + " " + text_at(row.data, "url")
                               : text_at(row.data, "command");
  std::wstring command;
  for (const std::wstring& line : wrap(wide(what.substr(0, what.find('\n'))), canvas_.columns())) {
    command = line;
    break;
  }
  return cut(text + command, canvas_.columns(), true);
}

// The title on top, the keys below. Gives the row that they begin in.
int Top::draw_frame(const std::wstring& title) {
  const int columns = canvas_.columns();
  canvas_.put(0, 0, cut(title, columns, true), Canvas::kBold);
  std::vector<std::wstring> lines(1);
  for (const KeyHelp& help : kKeyHelp) {
    const std::wstring word = std::wstring(help.key) + L" " + help.does;
    if (!lines.back().empty() && columns_of(lines.back()) + 2 + columns_of(word) > columns) {
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? L"" : L"  ") + word;
  }
  const auto room = static_cast<std::size_t>(std::max(canvas_.rows() - 3, 1));
  if (lines.size() > room) lines.resize(room);
  int row = canvas_.rows() - static_cast<int>(lines.size());
  const int first = message_.empty() ? row : row - 1;
  if (!message_.empty()) {
    canvas_.put(first, 0, cut(wide(message_), columns, true), Canvas::kAlarm);
  }
  for (const std::wstring& line : lines) {
    canvas_.put(row++, 0, cut(line, columns, true), Canvas::kReverse);
  }
  return first;
}

void Top::draw() {
  drawn_at_ = Clock::now();
  is_dirty_ = false;
  canvas_.clear();
  pane_rows_ = 0;
  if (page_ == Page::kList) draw_list();
  if (page_ == Page::kTask) draw_task();
  if (page_ == Page::kFollow) draw_follow();
  if (page_ == Page::kReview) draw_review();
  if (page_ == Page::kHelp) draw_help();
  canvas_.show();
  choose_pane();
}

void Top::draw_lines(const std::vector<std::wstring>& lines, std::size_t first, int top,
                     int bottom) {
  for (int row = top; row < bottom && first < lines.size(); ++row, ++first) {
    canvas_.put(row, 0, cut(lines[first], canvas_.columns()));
  }
}

// The last rows: that is where a command writes.
void Top::draw_pane(int top, int bottom) {
  pane_rows_ = bottom - top;
  const Row* const row = selected();
  if (pane_ == nullptr || row == nullptr || pane_->task_id() != row->id) return;
  const std::vector<std::string>& shown = pane_->rows();
  std::size_t first = 0;
  if (shown.size() > static_cast<std::size_t>(pane_rows_)) {
    first = shown.size() - static_cast<std::size_t>(pane_rows_);
  }
  for (int at = top; at < bottom && first < shown.size(); ++at, ++first) {
    canvas_.put(at, 0, cut(wide(shown[first]), canvas_.columns()));
  }
}

void Top::draw_list() {
  std::size_t running = 0;
  std::size_t waiting = 0;
  for (const Row& row : rows_) {
    if (row.is_approval) ++waiting;
    if (row.state == "running") ++running;
  }
  const auto count = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  std::string title = "sbx-run top: " + count(sessions_.all().size(), "session") + ", " +
                      std::to_string(running) + " running";
  if (waiting > 0) title += ", " + count(waiting, "approval") + " waiting";
  if (!sessions_.trouble().empty()) title += "; " + sessions_.trouble();
  const int end = draw_frame(wide(title));
  std::wstring heads;
  for (const Column& column : kColumns) {
    if (canvas_.columns() >= column.from) heads += cut(column.title, column.width, true) + L' ';
  }
  if (end > 2)
    canvas_.put(1, 0, cut(heads + L"COMMAND", canvas_.columns(), true), Canvas::kReverse);
  const bool has_pane = canvas_.rows() >= kLeastForPane;
  const int middle = has_pane ? std::max(4, end * 3 / 5) : end;
  page_rows_ = static_cast<std::size_t>(std::max(middle - 2, 1));
  if (cursor_ < top_row_) top_row_ = cursor_;
  if (cursor_ >= top_row_ + page_rows_) top_row_ = cursor_ - page_rows_ + 1;
  int at = end > 2 ? 2 : 1;
  for (std::size_t i = top_row_; i < rows_.size() && at < middle; ++i, ++at) {
    const unsigned look = rows_[i].is_approval ? Canvas::kAlarm : Canvas::kPlain;
    canvas_.put(at, 0, row_text(rows_[i]), i == cursor_ ? look | Canvas::kReverse : look);
  }
  if (rows_.empty()) canvas_.put(at, 0, cut(L"nothing runs", canvas_.columns()));
  if (!has_pane) return;
  const Row* const row = selected();
  const std::string name = row == nullptr || row->is_approval ? "" : "output of " + row->id;
  canvas_.put(middle, 0, cut(wide(name), canvas_.columns(), true), Canvas::kReverse);
  draw_pane(middle + 1, end);
}

std::vector<std::wstring> Top::detail_lines(const Row& row) const {
  std::vector<std::wstring> lines;
  const auto add = [&](const std::string& text) {
    for (std::wstring& line : wrap(wide(text), canvas_.columns())) lines.push_back(std::move(line));
  };
  add("session   " + row.session);
  add("state     " + row.state + ", " + time_text(number_at(row.data, "uptime_seconds")) +
      " since " + text_at(row.data, "started_at"));
  if (row.use) {
    add("use       " + std::to_string(std::lround(row.use->cpu_percent)) + "% CPU, " +
        memory_text(row.use->memory_kb) + " memory");
  }
  add("in        " + text_at(row.data, "cwd"));
  add("command   " + text_at(row.data, "command"));
  if (!detail_.is_object()) return lines;
  for (const json& denial : detail_.value("denials", json::array())) {
    if (!denial.is_object()) continue;
    const std::string grant = text_at(denial, "grant");
    add("refused   " + text_at(denial, "operation") + " " + text_at(denial, "target") +
        (grant.empty() ? "" : " (allow it with " + grant + ")"));
  }
  for (const json& connection : detail_.value("connections", json::array())) {
    if (!connection.is_object()) continue;
    const std::string name = text_at(connection, "name");
    add("connected " + (name.empty() ? text_at(connection, "address") : name) + ":" +
        std::to_string(static_cast<int>(number_at(connection, "port"))));
  }
  return lines;
}

void Top::draw_task() {
  const int end = draw_frame(wide("task " + chosen_.id));
  const std::vector<std::wstring> lines = detail_lines(chosen_);
  const int middle = std::min(static_cast<int>(lines.size()) + 1, std::max(2, end / 2));
  page_rows_ = static_cast<std::size_t>(std::max(middle - 1, 1));
  scroll_ = std::min(scroll_, lines.size() > page_rows_ ? lines.size() - page_rows_ : 0);
  draw_lines(lines, scroll_, 1, middle);
  canvas_.put(middle, 0, cut(L"output", canvas_.columns(), true), Canvas::kReverse);
  draw_pane(middle + 1, end);
}

void Top::draw_follow() {
  const int end = draw_frame(wide("output of " + chosen_.id + ", " + chosen_.state));
  draw_pane(1, end);
}

void Top::draw_review() {
  review_->fit(std::max(canvas_.columns(), 1));
  const std::vector<std::wstring>& lines = review_->lines();
  const int end = draw_frame(L"");
  page_rows_ = static_cast<std::size_t>(std::max(end - 1, 0));
  scroll_ = std::min(scroll_, lines.size() > page_rows_ ? lines.size() - page_rows_ : 0);
  review_->note_seen(scroll_, page_rows_);
  const std::size_t last = std::min(scroll_ + page_rows_, lines.size());
  const std::string place = "lines " + std::to_string(scroll_ + 1) + "-" + std::to_string(last) +
                            " of " + std::to_string(lines.size());
  canvas_.put(0, 0,
              cut(wide("approval, " + place +
                       (review_->is_seen() ? ": all has been in view" : ": PageDown shows more")),
                  canvas_.columns(), true),
              Canvas::kBold);
  draw_lines(lines, scroll_, 1, end);
}

void Top::draw_help() {
  const int end = draw_frame(L"keys");
  std::vector<std::wstring> lines;
  for (const KeyHelp& help : kKeyHelp) {
    const std::wstring text = cut(help.key, 7, true) + help.does + L": " + help.more;
    for (std::wstring& line : wrap(text, canvas_.columns())) lines.push_back(std::move(line));
  }
  draw_lines(lines, 0, 1, end);
}

}  // namespace sbx
