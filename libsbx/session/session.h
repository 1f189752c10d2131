// SPDX-License-Identifier: Apache-2.0
// Session: one profile, one workspace, and the runs and tasks in it, on one thread. Driven from
// outside: poll poll_fd() for reading until deadline(), then step(). The process must ignore
// SIGPIPE, and have SIGCHLD at its default.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aside.h"
#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/result.h"
#include "host/facts.h"
#include "host/globs.h"
#include "host_files/leftovers.h"
#include "kept/kept_layer.h"
#include "model/outcome.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "run/http_process.h"
#include "session/approvals.h"
#include "session/kept_shell.h"
#include "session/layer_action.h"
#include "session/task.h"
#include "session/time_share.h"
#include "session/warm_pool.h"

namespace sbx {

// What a session keeps at the most.
struct SessionBounds {
  std::size_t running = 2048;  // runs and tasks that run at once
  std::size_t ended = 1000;    // tasks that are remembered after their end
  std::chrono::seconds ended_for{15 * 60};
  std::size_t kept_bytes = std::size_t{256} << 20;  // of output and requests, all tasks together
};

struct SessionOptions {
  std::string name;             // empty: one without a name
  SharedPolicy policy;          // never null
  HostFacts facts;              // quick facts
  Environment inherited;        // the operator's environment
  bool own_workspace = false;   // made for this session: cleared by reset, removed at the end
  int owner_pidfd = -1;         // everything ends with this process; -1: none
  std::string approved;         // the digest of a request that may run once; empty: none
  std::size_t warm = 0;         // sandboxes that are kept ready once there has been a command
  HttpProcess* http = nullptr;  // of all its policies, whose questions it answers; outlives it
  SessionBounds bounds{};
};

class Session {
 public:
  using Clock = Task::Clock;
  using TaskPointer = std::shared_ptr<Task>;

  explicit Session(SessionOptions options);
  // Kills what still runs, at once.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionOptions& options() const { return options_; }
  // What the operator has granted to this session's requests.
  Approvals& approvals() { return approvals_; }

  // Starts the command at once. One that is refused, or cannot start, is a task that has ended
  // already. Errors are mistakes in the request, with a pointer into the params: those of
  // apply_request(); kTooMany; kSessionFailed during a reset.
  // `base` stands for the session's own policy, for this one.
  // `size` is the terminal's, of one that has one.
  Result<TaskPointer> start(TaskKind kind, Request request, const SharedPolicy& base = nullptr,
                            TerminalSize size = {});

  // The same, in the kept shell.
  Result<TaskPointer> run_in_shell(TaskKind kind, Request request,
                                   const SharedPolicy& base = nullptr);
  // Its task, which is started where there is none.
  Result<TaskPointer> shell();
  // Somebody types into a task's terminal.
  void note_typing(const Task& task);

  TaskPointer find(std::string_view id) const;  // null: none, or forgotten
  std::vector<TaskPointer> tasks() const;       // in the order of their start

  // An ended task whose command never began is none: its starter was not told its id.
  void forget(Task& task);

  // SIGTERM, after the grace SIGKILL.
  void terminate(Task& task, std::chrono::milliseconds grace);
  void cancel(Task& task);
  // Sends on what waits in task.input().
  void write_stdin(Task& task);

  // Ends everything: tasks are asked to, runs are killed. With `reset` the tasks are then forgotten
  // and the workspace is cleared where it is the session's own.
  void end_all(const std::string& reason, std::chrono::milliseconds grace);
  void reset(std::chrono::milliseconds grace);
  bool is_resetting() const { return resetting_; }
  // After a reset: what could not be removed from the workspace.
  const Status& reset_status() const { return reset_status_; }

  // The layer that the session holds; null: none.
  const KeptLayer* layer() const { return layer_.get(); }
  // sbx-layer, with these words and the workspace's; `changes`: the session's own layer, in which
  // no command may run meanwhile. The reply comes from step(). Errors: kLayerInUse, kTooMany, and
  // those of LayerAction::start().
  Status act(std::vector<std::string> words, LayerAct act);
  // What only reads, of this client, with this id or (empty) any: replied to with kCancelled, and
  // ended. False: there is none.
  bool cancel_acts(std::uint64_t client, std::string_view id);

  // Looks for the policy's patterns beside the loop, which does not wait for what commands have
  // made many of; then `then`, from step() or at once: how the look went, and what it found.
  using Looked = std::function<void(const Status& looked, Expansions& found)>;
  void look_for_patterns(const SharedPolicy& policy, Looked then);

  bool is_idle() const { return running_.empty() && !resetting_ && actions_.empty(); }
  bool has_lost_owner() const { return owner_gone_; }

  // What the task has cost since then counts as its own.
  void charge(Task& task, Clock::time_point begun);
  // Somebody waits for the session's one thread.
  void note_call() { called_at_ = Clock::now(); }
  int poll_fd() const { return loop_.fd(); }
  std::optional<Clock::time_point> deadline() const;
  void step();  // never blocks

  // Forgets ended tasks beyond the bounds; step() and start() do so as well.
  void forget_old();

  // Tasks and runs that have written, ended or been cancelled since the last call.
  std::vector<TaskPointer> take_changed();

 private:
  using Key = std::uint64_t;
  struct Running {
    TaskPointer task;
    Loop::Watch watch;
    Loop::Watch stdin_watch;
    std::optional<Clock::time_point> deadline;
    Loop::Timer timer;  // for that
    TimeShare share;
    Loop::Timer rest;  // until it is listened to again
  };
  struct Action {
    std::unique_ptr<LayerAction> action;
    Loop::Watch watch;
  };
  struct Screen {
    TaskPointer task;
    Loop::Watch watch;
  };

  // Work on a thread of its own.
  struct Beside {
    Expansions expansions;
    std::unique_ptr<Aside> aside;  // the first to go
    Loop::Watch watch;
    std::function<void()> then;
  };

  Status set_up();
  Status check_room() const;
  Status open_shell();
  Status open_layer();
  Status open_own_layer(Expansions* expansions);
  void end_action(Key key);
  void go_beside(std::unique_ptr<Beside> beside, const std::function<void()>& work);
  void step_action(Key key);
  // Is off where there can be none; errno says why.
  Loop::Watch watch(int fd, std::uint32_t events, std::function<void()> callback);
  static Error watch_failed();
  void refuse(Task& task, const Error& error) const;
  void follow(Key key, const TaskPointer& task);
  void step_task(Key key);
  void rest(Running& running, Clock::time_point begun);
  void watch_screen(const TaskPointer& task);
  void step_screens();
  void set_timer(Key key, Running& running);
  void end_owner();
  void note_change(const TaskPointer& task);
  void finish_reset();
  void end_reset();
  bool may_refill() const;
  void refill();
  void keep_within_bytes(Task& task);

  SessionOptions options_;
  Loop loop_;
  bool is_busy_ = false;  // something has happened in this step
  Clock::time_point called_at_{};
  Loop::Watch owner_;
  Leftovers leftovers_;  // of the session itself
  Approvals approvals_;
  std::shared_ptr<KeptLayer> layer_;
  HostLooks looks_;
  std::optional<WarmPool> pool_;
  Clock::time_point refill_at_{};
  std::unordered_map<Key, Action> actions_;
  Status set_up_;
  Key next_key_ = 1;
  std::unordered_map<Key, Running> running_;
  std::unordered_map<const Task*, Key> keys_;
  std::unique_ptr<KeptShell> kept_shell_;  // once it has been asked for
  Loop::Watch kept_shell_watch_;
  std::vector<Screen> screens_;  // that are followed
  std::map<std::string, TaskPointer, std::less<>> tasks_;
  std::deque<TaskPointer> order_;  // tasks, by start
  std::vector<TaskPointer> changed_;
  std::size_t ended_ = 0;       // of tasks_
  std::size_t kept_bytes_ = 0;  // by tasks_ and running_
  Clock::time_point look_for_old_at_;
  bool owner_gone_ = false;
  bool resetting_ = false;
  Status reset_status_;
  bool is_cleared_ = true;
  bool is_clearing_ = false;                                  // the workspace, for a reset
  std::unordered_map<Key, std::unique_ptr<Beside>> besides_;  // the first to go
};

}  // namespace sbx
