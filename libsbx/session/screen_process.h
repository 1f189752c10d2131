// SPDX-License-Identifier: Apache-2.0
// ScreenProcess: sbx-screen, which follows what one task writes to its terminal. It is fed at its
// own speed, from the task's own buffer, and asked; what it says is not trusted, and its end is an
// error of those who ask. Never blocks: poll fd() for reading until deadline(), then step().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/result.h"
#include "screen/frames.h"
#include "session/task_output.h"

namespace sbx {

class ScreenProcess {
 public:
  using Reply = std::function<void(const Result<std::string>& payload)>;
  enum Question : char { kText = 'S', kRepaint = 'P' };

  // `output` must outlive this. `answer_back` gets what the terminal says to the program. Errors:
  // kPathNotFound where sbx-screen is not installed, kSetupFailed.
  static Result<std::unique_ptr<ScreenProcess>> start(
      const TaskOutput& output, std::function<void(std::string_view)> answer_back);
  ~ScreenProcess() { lose(""); }
  ScreenProcess(const ScreenProcess&) = delete;
  ScreenProcess& operator=(const ScreenProcess&) = delete;

  int fd() const { return loop_.fd(); }
  std::optional<Loop::Clock::time_point> deadline() const { return loop_.deadline(); }
  void step();

  // Both count from what has been written so far.
  void resize(TerminalSize size);
  void ask(Question question, Reply reply);
  bool has_answered() const { return replies_.empty(); }

 private:
  struct Word {
    std::uint64_t at;  // the output that it follows
    std::string frame;
  };
  explicit ScreenProcess(const TaskOutput& output) : output_(output) {}
  Status launch();
  void say(std::string frame);
  void feed();
  bool has_next();
  void take();
  void lose(const char* why);

  const TaskOutput& output_;
  std::function<void(std::string_view)> answer_back_;
  pid_t pid_ = -1;
  OwnedFd socket_;
  Loop loop_;
  Loop::Watch watch_;
  Loop::Timer patience_;
  std::string sending_;
  std::uint64_t fed_ = 0;
  std::deque<Word> words_;
  std::deque<Reply> replies_;
  FrameReader reader_{std::size_t{32} << 20};
  std::string why_lost_;
};

}  // namespace sbx
