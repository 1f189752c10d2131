// SPDX-License-Identifier: Apache-2.0
// Pane: what one task writes, as the rows that can be seen. Of a task with a terminal, the screen
// that its session has; of any other, a screen of our own: both are sbx-screen's cells. Nothing
// that a command writes comes to the person's terminal but these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session/screen_process.h"
#include "sessions.h"

namespace sbx {

class Pane {
 public:
  Pane(std::string session, std::string task_id, bool has_terminal);
  Pane(const Pane&) = delete;
  Pane& operator=(const Pane&) = delete;

  const std::string& task_id() const { return task_id_; }
  const std::string& session() const { return session_; }
  bool has_terminal() const { return has_terminal_; }
  // Asks for what is new, unless the last answer has not come.
  void refresh(SessionWatch& session);
  void resize(int columns, int rows);
  int fd() const { return screen_ ? screen_->fd() : -1; }
  // Whether there is something new to be drawn.
  bool step();
  // From the top; the last that hold anything, of a task without a terminal.
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  struct Shared;
  void take_output(const nlohmann::json& answer);
  void take_rows(const std::string& text);
  void ask_screen();

  std::string session_;
  std::string task_id_;
  bool has_terminal_;
  bool is_waiting_ = false;
  bool is_drawing_ = false;
  bool is_stale_ = false;  // there is more than the screen was asked about
  bool has_news_ = false;
  std::uint64_t since_ = 0;
  TaskOutput output_;
  std::unique_ptr<ScreenProcess> screen_;
  std::vector<std::string> rows_;
  std::shared_ptr<Pane*> self_;  // null once it has gone: answers may come later
};

}  // namespace sbx
