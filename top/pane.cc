// SPDX-License-Identifier: Apache-2.0
// A stream without a terminal has newlines alone: the screen gets what a terminal makes of them.
#include "pane.h"

#include <utility>

#include "json/text_at.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kHead = 9;  // of an answer of sbx-screen: a size, a cursor, its visibility

std::string with_returns(const std::string& text) {
  std::string out;
  for (const char byte : text) {
    if (byte == '\n') out += '\r';
    out += byte;
  }
  return out;
}

}  // namespace

Pane::Pane(std::string session, std::string task_id, bool has_terminal)
    : session_(std::move(session)),
      task_id_(std::move(task_id)),
      has_terminal_(has_terminal),
      output_({kMostBytes, std::nullopt}),
      self_(std::make_shared<Pane*>(this)) {
  if (has_terminal_) return;
  auto screen = ScreenProcess::start(output_, [](std::string_view) {});
  if (screen.ok()) {
    screen_ = std::move(screen).value();
  } else {
    rows_ = {screen.error().message};
  }
}

void Pane::refresh(SessionWatch& session) {
  if (is_waiting_) return;
  is_waiting_ = true;
  json params = {{"task_id", task_id_}};
  if (!has_terminal_) params["since"] = since_;
  const std::weak_ptr<Pane*> self = self_;
  session.ask(has_terminal_ ? "screen" : "output", params,
              [self](const json& answer, bool is_error) {
                const std::shared_ptr<Pane*> pane = self.lock();
                if (pane == nullptr) return;
                (*pane)->is_waiting_ = false;
                if (is_error) return;
                if ((*pane)->has_terminal_) return (*pane)->take_rows(text_at(answer, "text"));
                (*pane)->take_output(answer);
              });
}

void Pane::take_output(const json& answer) {
  const auto next = answer.find("next");
  if (next == answer.end() || !next->is_number_integer() || screen_ == nullptr) return;
  if (next->get<std::uint64_t>() == since_) return;
  since_ = next->get<std::uint64_t>();
  for (const char* const stream : {"stdout", "stderr"}) {
    output_.append(OutputChannel::kOut, with_returns(text_at(answer, stream)));
  }
  ask_screen();
}

void Pane::resize(int columns, int rows) {
  if (screen_ == nullptr) return;
  screen_->resize({columns, rows});
  ask_screen();
}

void Pane::ask_screen() {
  is_stale_ = is_drawing_;
  if (std::exchange(is_drawing_, true)) return;
  screen_->ask(ScreenProcess::kText, [this](const Result<std::string>& answer) {
    is_drawing_ = false;
    if (!answer.ok()) return take_rows(answer.error().message);
    take_rows(answer.value().substr(std::min(kHead, answer.value().size())));
    if (std::exchange(is_stale_, false)) ask_screen();
  });
}

bool Pane::step() {
  if (screen_ != nullptr) screen_->step();
  return std::exchange(has_news_, false);
}

void Pane::take_rows(const std::string& text) {
  rows_.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    rows_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  while (!rows_.empty() && rows_.back().empty()) rows_.pop_back();
  has_news_ = true;
}

}  // namespace sbx
