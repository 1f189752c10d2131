// SPDX-License-Identifier: Apache-2.0
// A batch: lines in, runs of a session, lines out. At most as many tasks are in memory as run at
// once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "id_set.h"
#include "lane.h"
#include "options.h"
#include "results.h"
#include "slurm.h"
#include "summary.h"
#include "task_input.h"

namespace sbx::batch {

class Batch {
 public:
  explicit Batch(Options options) : options_(std::move(options)) {}

  // The exit status. Errors: our own failures, which end the batch.
  Result<int> run();
  // For the end of it, however it came.
  std::string summary_line() const;
  bool has_begun() const { return input_.has_value(); }
  void clear_progress();

 private:
  using Clock = std::chrono::steady_clock;
  // A server, here or on a node.
  struct Server {
    Lane lane;
    std::string node;
    std::uint64_t jobs = 1;  // at a time
    std::uint64_t running = 0;
    Clock::time_point heard = Clock::now();
    bool was_asked = false;  // whether it is still there
  };
  struct Task {
    std::string id;
    std::string params;  // kept where it may be tried again
    std::uint64_t line = 0;
    std::uint64_t turn = 0;
    std::uint64_t tries = 0;
    Clock::time_point begin{};
    Server* server = nullptr;
  };

  Status open();
  Status start_servers();
  Status start_server(Lane lane, std::string node, std::uint64_t jobs);
  Status start_on_cluster();
  Status turn();
  void poll_once();
  bool wants_more() const;
  bool is_over() const;
  Status begin_some();
  Status take_line(const Line& line);
  Status refuse(const std::string& id, std::uint64_t line, const Error& error);
  bool is_recorded(const Line& line, std::string_view id);
  void send(Task task);
  Status take_answers();
  Status take_answer(Answer answer);
  void look_after(Server& server);
  Status finish(const Task& task, std::string_view line, const ResultLine& result);
  bool try_again(Task& task, const std::string& error_code);
  Status lose_servers();
  Status lose(Server& server);
  void take_signal();
  void show_progress();
  Status add_result(std::uint64_t turn, std::string_view line);
  std::optional<std::uint64_t> left() const;

  Options options_;
  std::string program_;
  IdSet ids_;
  std::optional<Results> results_;
  std::optional<TaskInput> input_;
  std::optional<SlurmJob> job_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::uint64_t jobs_ = 0;  // of all of them
  OwnedFd signals_;
  Summary summary_;
  std::map<std::uint64_t, Task> running_;           // by the number of their call
  std::multimap<Clock::time_point, Task> waiting_;  // to be tried again
  std::uint64_t next_call_ = 1;
  std::uint64_t next_turn_ = 0;
  int lost_ = 0;  // times that no server was left, since the last answer
  int signal_ = 0;
  bool stops_ = false;  // nothing more begins
  std::optional<Clock::time_point> give_up_;
  std::optional<std::uint64_t> total_;
  bool shows_progress_ = false;
  Clock::time_point shown_{};
};

}  // namespace sbx::batch
