// SPDX-License-Identifier: Apache-2.0
// TaskTerminal: the terminal of a task: its size, its modes, and what can be seen on it, also once
// the task has ended.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "output/stream.h"
#include "run/terminal_modes.h"
#include "session/screen_process.h"
#include "session/stdin_queue.h"

namespace sbx {

class TaskTerminal {
 public:
  using Clock = Loop::Clock;
  using Reply = ScreenProcess::Reply;

  // Both must outlive this; what the terminal answers to the program goes into `input`.
  TaskTerminal(const TaskOutput& output, StdinQueue& input, TerminalSize size);

  TerminalSize size() const { return size_; }
  void resize(TerminalSize size);
  // The pty is there.
  void take_master(int fd);
  bool has_master() const { return master_.is_open(); }
  int master() const { return master_.get(); }  // -1: none
  void append(std::string_view text) { modes_.append(text); }
  const TerminalModes& modes() const { return modes_; }

  // Escapes with `kRepaint`, modes included. `reply` may be called at once.
  void ask(ScreenProcess::Question question, Reply reply);
  // The task has ended: what can be seen is kept, and sbx-screen goes.
  void end();
  // While somebody's own terminal answers to the program, this one is silent.
  void attach(std::uint64_t client) { watchers_.insert(client); }
  void detach(std::uint64_t client) { watchers_.erase(client); }

  void set_redaction(RedactionInput redaction) { redaction_ = std::move(redaction); }
  int poll_fd() const { return process_ ? process_->fd() : -1; }  // the same until it is -1
  std::optional<Clock::time_point> deadline() const;
  void step();
  bool is_done() const { return process_ == nullptr; }
  std::size_t kept_bytes() const { return last_text_.size() + last_repaint_.size(); }

 private:
  TerminalSize size_;
  OwnedFd master_;
  TerminalModes modes_;
  RedactionInput redaction_;
  std::unique_ptr<ScreenProcess> process_;
  std::optional<Error> failure_;
  bool is_ending_ = false;
  std::string last_text_;
  std::string last_repaint_;
  std::set<std::uint64_t> watchers_;
};

}  // namespace sbx
