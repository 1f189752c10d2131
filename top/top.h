// SPDX-License-Identifier: Apache-2.0
// Top: keys and what the sessions say → what is shown, and what they are asked to do. Draws at most
// ten times a second, and only where something is new.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "canvas.h"
#include "pane.h"
#include "processes.h"
#include "review.h"
#include "sessions.h"

namespace sbx {

class Top {
 public:
  Top(Sessions& sessions, Canvas& canvas) : sessions_(sessions), canvas_(canvas) {}

  // The exit status: 0 by `q`, 128 and the number of a signal, 125 where the terminal has gone.
  Result<int> run();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Page { kList, kTask, kFollow, kReview, kHelp };
  struct Row {
    bool is_approval = false;
    std::string session;
    std::string id;  // of a task, or a digest
    std::string state;
    nlohmann::json data;
    std::optional<TreeUse> use;
    bool is_same(const Row& other) const { return id == other.id && session == other.session; }
  };

  Status refresh();
  void wait();
  void make_rows();
  void choose_pane();
  void look_at_detail();
  const Row* selected() const;

  void on_key(int key);
  void on_list_key(int key);
  void on_review_key(int key);
  void scroll(int key, std::size_t& at, std::size_t count, std::size_t page) const;
  void open_selected();
  void open_review(const Row& row);
  void kill_selected();
  void decide(const Row& row, bool is_approved);
  void close();

  void draw();
  void draw_list();
  void draw_task();
  void draw_follow();
  void draw_review();
  void draw_help();
  void draw_lines(const std::vector<std::wstring>& lines, std::size_t first, int top, int bottom);
  void draw_pane(int top, int bottom);
  int draw_frame(const std::wstring& title);
  std::wstring row_text(const Row& row) const;
  std::vector<std::wstring> detail_lines(const Row& row) const;

  Sessions& sessions_;
  Canvas& canvas_;
  Processes processes_;
  Page page_ = Page::kList;
  Page page_before_ = Page::kList;  // of the help
  std::vector<Row> rows_;
  Row chosen_;  // the one that the cursor is on, also when it moves in the list
  std::size_t cursor_ = 0;
  std::size_t top_row_ = 0;
  std::size_t scroll_ = 0;
  std::size_t page_rows_ = 1;  // of what is scrolled
  std::unique_ptr<Pane> pane_;
  int pane_columns_ = 0;
  int pane_rows_ = 0;
  std::optional<Review> review_;
  nlohmann::json detail_;
  std::string message_;
  bool is_dirty_ = true;
  bool is_over_ = false;
  bool has_chosen_ = false;  // a key has been typed
  Clock::time_point drawn_at_{};
  Clock::time_point refreshed_at_{};
  Clock::time_point looked_at_pane_{};
};

// What the footer names.
struct KeyHelp {
  const wchar_t* key;
  const wchar_t* does;
  const wchar_t* more;
};
inline constexpr KeyHelp kKeyHelp[] = {
    {L"q", L"quits", L"Esc goes back to the list"},
    {L"Enter", L"opens", L"a task with what was refused to it, or all that an approval covers"},
    {L"a", L"approves", L"once all that the digest covers has been in view"},
    {L"r", L"refuses", L"the approval that is chosen, or shown"},
    {L"k", L"kills", L"the task: SIGTERM, then SIGKILL to everything left"},
    {L"f", L"follows", L"the task's output on the whole screen"},
    {L"?", L"helps", L"with this page"},
};

}  // namespace sbx
