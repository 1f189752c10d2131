// SPDX-License-Identifier: Apache-2.0
// KeptShell: one interactive bash on a terminal of its own, in which calls are run one after the
// other: what they set stays, what they write and how they end is each one's own. What a call
// leaves behind in the background goes on into the shell's output. Everything inside is hostile: it
// can spoil its own answers only. Never blocks: poll fd() for reading until deadline(), then
// step().
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/result.h"
#include "run/fold.h"
#include "session/shell_process.h"
#include "session/shell_words.h"
#include "session/task.h"

namespace sbx {

class KeptShell {
 public:
  using TaskPointer = std::shared_ptr<Task>;
  // What the session does for it.
  struct Host {
    std::function<Result<TaskPointer>()> start;    // of kept_shell_argv(), with a terminal
    std::function<void(const TaskPointer&)> note;  // it has written, or a call has ended
    std::function<std::string(const Task& call, const std::string& name)> variable;
    // Whether the call may run in that directory; false: it has ended.
    std::function<bool(Task& call, const std::string& directory)> enter;
  };

  explicit KeptShell(Host host) : host_(std::move(host)) {}
  ~KeptShell();
  KeptShell(const KeptShell&) = delete;
  KeptShell& operator=(const KeptShell&) = delete;
  Status open() { return loop_.open(); }

  int fd() const { return loop_.fd(); }
  std::optional<Loop::Clock::time_point> deadline() const { return loop_.deadline(); }
  void step();

  // The shell's own task, which is started where there is none. Errors: those of the start.
  Result<TaskPointer> shell();
  bool is(const Task& task) const { return shell_.get() == &task; }
  // Where the next call will run; empty: not known yet.
  std::string directory() const { return queue_.empty() && !call_ ? process_.directory() : ""; }
  // What a call cannot be given any more. Errors: kBadValue.
  static Status check(const Request& request);
  // A call that has entered: its turn comes. Errors, and it is not taken: kTooMany.
  Status push(const TaskPointer& call);
  void cancel(const Task& call);
  // Somebody types: there is a prompt whenever no call runs.
  void show_prompt();
  // The shell's task has ended.
  void note_end();
  // It ends by itself, traps and all, and by this cause so does the call that runs in it; with
  // kCancelled those that wait do not begin, else they are for the next shell.
  void close(Cause cause);

 private:
  enum class State : std::uint8_t {
    kNone,
    kStarting,
    kReady,      // it waits for a word
    kPrompt,     // … or for a person
    kWaking,     // … who has been interrupted
    kOpening,    // pipes are on their way
    kOpened,     // … and here
    kRunning,    // a call
    kReturning,  // to where it was before
    kEnding,
  };
  struct Pipe {
    OwnedFd fd;
    OutputStream stream;
    Loop::Watch watch;
  };
  struct Call {
    explicit Call(TaskPointer of);
    TaskPointer task;
    Supervised result;
    std::string in_rest;  // that is not written yet
    OwnedFd in;
    OwnedFd out;
    OwnedFd err;
    Loop::Watch in_watch;
    Loop::Watch out_watch;
    Loop::Watch err_watch;
    Loop::Timer timer;
    std::string cwd;
    std::vector<Denial> denied_before;
    std::size_t connected_before = 0;
    Usage used_before;
    Cause cause = Cause::kNone;  // what ends it otherwise
    int tries = 0;               // to begin it
    bool has_begun = false;
    int looks = 0;  // since it is to end
    int alone = 0;  // of them: nothing but the shell itself was at work; before it: not even that
    std::chrono::nanoseconds shell_time{0};
    std::vector<pid_t> before;   // the shell's children when it began
    std::optional<Error> error;  // instead of an end
    std::optional<ShellEnd> end;
  };

  void advance();
  void look_for_driver();
  Status take_driver();
  void say(std::string word);  // with its number
  void say_pipes();
  void say_again();  // what ^C has taken
  void send_word(std::string_view word);
  void send();
  void feed();
  void hear();
  void take(const ShellReady& ready);
  void take(const ShellPipes& pipes);
  void take(const ShellBegun& begun);
  void take(const ShellEnd& end);
  void run_call();
  void keep_background(const OwnedFd& of, OutputChannel channel);
  void finish_call(int wait_status, ShellReport report);
  void conclude(const TaskPointer& call, Outcome outcome, ShellReport report);
  void fail_all(const Error& error);
  void give_up();
  void stop(Cause cause);
  void press();
  void wake();

  Host host_;
  Loop loop_;
  State state_ = State::kNone;
  TaskPointer shell_;
  ShellProcess process_;
  OwnedFd words_;
  OwnedFd says_;
  Loop::Watch words_watch_;
  Loop::Watch says_watch_;
  Loop::Timer look_;
  int looks_ = 0;
  int said_ = 0;      // words
  std::string word_;  // the last of them
  int again_ = 0;     // it has been said once more
  std::string sending_;
  std::string heard_;
  bool wants_prompt_ = false;
  bool is_in_prompt_ = false;  // a key has brought it here, and readline goes on afterwards
  int last_status_ = 0;
  std::string flags_;
  std::deque<TaskPointer> queue_;
  std::unique_ptr<Call> call_;
  std::list<Pipe> background_;
  std::string killed_for_;  // why the shell is made anew
};

}  // namespace sbx
