// SPDX-License-Identifier: Apache-2.0
// What happens by itself, and by keys. draw.cc draws it.
#include "top.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "json/text_at.h"

namespace sbx {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kDrawEvery{100};
constexpr milliseconds kRefreshEvery{1000};
constexpr milliseconds kPaneEvery{200};

volatile sig_atomic_t caught = 0;
void note_signal(int number) { caught = number; }

bool flag_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

Result<int> Top::run() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(number, &action, nullptr);
  while (!is_over_ && caught == 0) {
    SBX_CHECK_OK(refresh());
    if (is_dirty_ && Clock::now() - drawn_at_ >= kDrawEvery) draw();
    wait();
    // In a review each key counts only once what the one before has led to is in view.
    const bool one_by_one = page_ == Page::kReview;
    for (int key = Canvas::kNone;
         (!one_by_one || !is_dirty_) && !is_over_ && (key = canvas_.key()) != Canvas::kNone;) {
      on_key(key);
      if (page_ == Page::kReview) break;
    }
  }
  canvas_.close();
  return caught != 0 ? 128 + static_cast<int>(caught) : 0;
}

Status Top::refresh() {
  const auto now = Clock::now();
  if (now - refreshed_at_ >= kRefreshEvery) {
    refreshed_at_ = now;
    processes_.look();
    SBX_CHECK_OK(sessions_.refresh());
    look_at_detail();
    is_dirty_ = true;
  }
  if (pane_ != nullptr && now - looked_at_pane_ >= kPaneEvery) {
    looked_at_pane_ = now;
    if (SessionWatch* const session = sessions_.find(pane_->session())) pane_->refresh(*session);
  }
  return {};
}

void Top::wait() {
  std::vector<struct pollfd> ready = sessions_.waits();
  const std::size_t sessions = ready.size();
  ready.push_back(
      {STDIN_FILENO, static_cast<short>(is_dirty_ && page_ == Page::kReview ? 0 : POLLIN), 0});
  ready.push_back({pane_ == nullptr ? -1 : pane_->fd(), POLLIN, 0});
  const milliseconds longest = is_dirty_ ? kDrawEvery / 2 : kPaneEvery;
  poll(ready.data(), ready.size(), static_cast<int>(longest.count()));
  if ((ready[sessions].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) caught = SIGHUP;
  ready.resize(sessions);
  if (sessions_.read(ready)) {
    make_rows();
    is_dirty_ = true;
  }
  if (pane_ != nullptr && pane_->step()) is_dirty_ = true;
}

// Approvals, then what runs, then what has ended; the cursor stays on what it was on.
void Top::make_rows() {
  std::vector<Row> ended;
  rows_.clear();
  for (const auto& session : sessions_.all()) {
    for (const json& asked : session->approvals()) {
      rows_.push_back({true, session->name(), text_at(asked, "digest"), "approve?", asked, {}});
    }
  }
  for (const auto& session : sessions_.all()) {
    for (const json& task : session->tasks()) {
      Row row{false, session->name(), text_at(task, "task_id"), text_at(task, "status"), task, {}};
      const bool is_running = flag_at(task, "is_running");
      const auto pid = task.find("pid");
      if (is_running && pid != task.end() && pid->is_number_integer()) {
        row.use = processes_.of(pid->get<pid_t>(), session->pid());
      }
      (is_running ? rows_ : ended).push_back(std::move(row));
    }
  }
  for (auto row = ended.rbegin(); row != ended.rend(); ++row) rows_.push_back(std::move(*row));
  // Until somebody chooses, what waits for a person is first.
  if (!has_chosen_ && !rows_.empty() && rows_.front().is_approval) chosen_ = rows_.front();
  const auto same = std::find_if(rows_.begin(), rows_.end(),
                                 [&](const Row& row) { return row.is_same(chosen_); });
  if (same != rows_.end()) cursor_ = static_cast<std::size_t>(same - rows_.begin());
  if (cursor_ >= rows_.size()) cursor_ = rows_.empty() ? 0 : rows_.size() - 1;
  const bool is_elsewhere = page_ != Page::kList && same == rows_.end();
  if (!is_elsewhere && cursor_ < rows_.size()) chosen_ = rows_[cursor_];
  // What was asked has been decided, or is too old.
  if (is_elsewhere && page_ == Page::kReview) close();
}

const Top::Row* Top::selected() const {
  const bool is_on_page = page_ == Page::kTask || page_ == Page::kFollow || page_ == Page::kReview;
  if (is_on_page) return &chosen_;
  return cursor_ < rows_.size() ? &rows_[cursor_] : nullptr;
}

// The one of the chosen task, as large as where it is drawn.
void Top::choose_pane() {
  const Row* const row = selected();
  if (row == nullptr || row->is_approval || pane_rows_ <= 0) {
    pane_.reset();
    return;
  }
  const int columns = std::clamp(canvas_.columns(), 1, TerminalSize::kMostColumns);
  const bool is_same = pane_ != nullptr && pane_->task_id() == row->id &&
                       pane_->session() == row->session && pane_columns_ == columns;
  if (is_same) return;
  pane_columns_ = columns;
  pane_ = std::make_unique<Pane>(row->session, row->id, flag_at(row->data, "has_terminal"));
  pane_->resize(columns, std::clamp(canvas_.rows(), 1, TerminalSize::kMostRows));
  looked_at_pane_ = {};
}

void Top::look_at_detail() {
  if (page_ != Page::kTask || chosen_.is_approval) return;
  SessionWatch* const session = sessions_.find(chosen_.session);
  if (session == nullptr) return;
  session->ask("status", {{"task_id", chosen_.id}},
               [this, id = chosen_.id](const json& answer, bool is_error) {
                 if (is_error || id != chosen_.id) return;
                 detail_ = answer;
                 for (const char* const text : {"stdout", "stderr"}) detail_.erase(text);
               });
}

void Top::close() {
  page_ = Page::kList;
  review_.reset();
  detail_ = json();
  scroll_ = 0;
}

void Top::open_review(const Row& row) {
  SessionWatch* const session = sessions_.find(row.session);
  if (session == nullptr) return;
  session->ask("approvals", {{"digest", row.id}}, [this, row](const json& answer, bool is_error) {
    const auto list = answer.is_object() ? answer.find("approvals") : answer.end();
    if (is_error || !answer.is_object() || list == answer.end() || !list->is_array() ||
        list->size() != 1) {
      message_ = "it waits no longer";
      return;
    }
    review_.emplace(row.session, list->front());
    chosen_ = row;
    scroll_ = 0;
    page_ = Page::kReview;
  });
}

void Top::open_selected() {
  const Row* const row = selected();
  if (row == nullptr) return;
  if (row->is_approval) return open_review(*row);
  chosen_ = *row;
  detail_ = json();
  scroll_ = 0;
  page_ = Page::kTask;
  look_at_detail();
}

void Top::kill_selected() {
  const Row* const row = selected();
  if (row == nullptr || row->is_approval) return;
  SessionWatch* const session = sessions_.find(row->session);
  if (session == nullptr || row->state != "running") return;
  message_ = "killing " + row->id.substr(0, 8);
  session->ask("kill", {{"task_id", row->id}}, [this](const json&, bool is_error) {
    message_ = is_error ? "it could not be killed" : "killed";
    refreshed_at_ = {};
  });
}

void Top::decide(const Row& row, bool is_approved) {
  SessionWatch* const session = sessions_.find(row.session);
  if (session == nullptr) return;
  session->ask(
      is_approved ? "approve" : "decline", {{"digest", row.id}},
      [this, is_approved](const json&, bool is_error) {
        message_ = is_error ? "it could not be decided" : is_approved ? "approved" : "refused";
        refreshed_at_ = {};
      });
  if (page_ == Page::kReview) close();
}

void Top::scroll(int key, std::size_t& at, std::size_t count, std::size_t page) const {
  const std::size_t last = count == 0 ? 0 : count - 1;
  if (key == Canvas::kUp && at > 0) --at;
  if (key == Canvas::kDown) ++at;
  if (key == Canvas::kPageUp) at -= std::min(at, page);
  if (key == Canvas::kPageDown || key == ' ') at += page;
  if (key == Canvas::kHome) at = 0;
  if (key == Canvas::kEnd) at = last;
  at = std::min(at, last);
}

void Top::on_key(int key) {
  is_dirty_ = true;
  if (key != Canvas::kResize) has_chosen_ = true;
  if (key != Canvas::kResize) message_.clear();
  if (key == 'q') is_over_ = true;
  if (page_ == Page::kHelp) {
    if (key != Canvas::kResize) page_ = page_before_;
    return;
  }
  if (key == '?') {
    page_before_ = page_;
    page_ = Page::kHelp;
    return;
  }
  if (page_ == Page::kReview) return on_review_key(key);
  if (key == Canvas::kBack) return close();
  if (key == Canvas::kEnter) return page_ == Page::kList ? open_selected() : close();
  if (key == 'k') return kill_selected();
  on_list_key(key);
}

void Top::on_list_key(int key) {
  const Row* const row = selected();
  if (row != nullptr && row->is_approval && key == 'a') {
    message_ = "Enter shows it first: a approves what has been in view";
  } else if (row != nullptr && row->is_approval && key == 'r') {
    decide(*row, false);
  } else if (key == 'f' && row != nullptr && !row->is_approval) {
    chosen_ = *row;
    page_ = page_ == Page::kFollow ? Page::kList : Page::kFollow;
  } else if (page_ == Page::kList) {
    scroll(key, cursor_, rows_.size(), page_rows_);
    if (cursor_ < rows_.size()) chosen_ = rows_[cursor_];
  } else if (page_ == Page::kTask) {
    scroll(key, scroll_, 10'000, page_rows_);  // drawing knows where it ends
  }
}

void Top::on_review_key(int key) {
  if (key == Canvas::kBack) return close();
  if (key == 'r') return decide(chosen_, false);
  if (key == 'a') {
    if (review_->is_seen()) return decide(chosen_, true);
    message_ = "not yet: there is more to be seen (PageDown)";
    return;
  }
  const std::size_t lines = review_->lines().size();
  scroll(key, scroll_, lines > page_rows_ ? lines - page_rows_ + 1 : 1, page_rows_);
}

}  // namespace sbx
