// SPDX-License-Identifier: Apache-2.0
// The loop: a line is read when a place is free for it.
#include "batch.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/loop.h"
#include "process.h"

namespace sbx::batch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{100};  // before another try; doubled each time
constexpr milliseconds kLongestWait{5000};
constexpr milliseconds kBusyWait{20};  // where the session has no room
constexpr milliseconds kProgressEvery{200};
constexpr int kMostLost = 3;
// Of a server on another machine, which may go without a word.
constexpr milliseconds kAskAfter{4000};
constexpr milliseconds kLostAfter{16'000};
constexpr milliseconds kLongestStart{60'000};

// A task becomes a call, which is a line as well.
constexpr std::size_t kMostParamsBytes = kMaxLineBytes - 128;

// Where the error of a run points that was ended since a path which it must not change was
// replaced.
constexpr std::string_view kReplaced = "/filesystem/replaced";

Error too_large() {
  return Error{ErrorCode::kTooLarge,
               "a task of more than " + std::to_string(kMostParamsBytes) + " bytes", "",
               "give what is large as files of the workspace"};
}

bool is_terminal() {
  const char* const term = getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Status Batch::open() {
  SBX_TRY(program_, companion("sbx-run"));
  SBX_TRY(signals_, signal_descriptor(false));
  SBX_TRY(TaskInput input, TaskInput::open(options_.tasks));
  SBX_TRY(Results results, Results::open(options_, ids_));
  if (Status started = start_servers(); !started.ok()) {
    results.remove_empty();
    return started;
  }
  results_.emplace(std::move(results));
  input_.emplace(std::move(input));
  shows_progress_ = is_terminal();
  if (shows_progress_) total_ = input_->count(options_.shard, options_.shards);
  return {};
}

Status Batch::start_servers() {
  servers_.clear();
  jobs_ = 0;
  if (options_.on_slurm) return start_on_cluster();
  SBX_TRY(Lane lane, Lane::start(program_, options_.serve));
  return start_server(std::move(lane), "", options_.jobs);
}

Status Batch::start_on_cluster() {
  job_.reset();
  Result<SlurmJob> job = SlurmJob::submit(options_.slurm, signals_.get());
  take_signal();
  if (signal_ != 0) return {};
  if (!job.ok()) return job.error();
  job_.emplace(std::move(job).value());
  Status status;
  const std::uint64_t jobs = options_.has_jobs ? options_.jobs : job_->processors();
  for (const std::string& node : job_->nodes()) {
    SBX_TRY(Child child, job_->serve(node, program_, options_.serve));
    Status started = start_server(Lane(std::move(child)), node, jobs);
    if (signal_ != 0) return {};
    if (!started.ok()) status = std::move(started);
  }
  // The others do the work of a node that does not come up.
  return servers_.empty() ? status : Status();
}

// What keeps the server from coming up is told before anything is read.
Status Batch::start_server(Lane started, std::string node, std::uint64_t jobs) {
  auto server = std::make_unique<Server>(Server{std::move(started), std::move(node), jobs});
  Lane& lane = server->lane;
  lane.call(0, "hello", "{}");
  const auto until = Clock::now() + kLongestStart;
  while (Clock::now() < until) {
    if (const auto answer = lane.next()) {
      if (answer->error) return *answer->error;
      server->heard = Clock::now();
      jobs_ += jobs;
      servers_.push_back(std::move(server));
      return {};
    }
    if (!lane.is_open()) break;
    struct pollfd ready[2] = {{lane.fd(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (poll(ready, 2, Loop::wait_ms(until)) < 0 && errno != EINTR) break;
    take_signal();
    if (signal_ != 0) return {};
    if (ready[0].revents != 0) lane.read();
  }
  std::string where = server->node.empty() ? "" : " on " + server->node;
  const std::string said = lane.complaint();
  return Error{ErrorCode::kSessionFailed,
               "the session's server did not come up" + where + (said.empty() ? "" : ": " + said),
               "", "sbx-run serve says why"};
}

Result<int> Batch::run() {
  const Status opened = open();
  if (signal_ != 0) return 128 + signal_;
  if (!opened.ok()) return opened.error();
  while (!is_over()) SBX_CHECK_OK(turn());
  const bool is_whole = signal_ == 0 && input_->is_at_end() && running_.empty();
  SBX_CHECK_OK(results_->close(is_whole));
  if (signal_ != 0) return 128 + signal_;
  return summary_.all_well() && is_whole ? 0 : 1;
}

bool Batch::is_over() const {
  if (give_up_ && Clock::now() >= *give_up_) return true;
  const bool has_more = !stops_ && !input_->is_at_end();
  return !has_more && running_.empty() && waiting_.empty() && results_->blocked_fd() < 0;
}

Status Batch::turn() {
  SBX_CHECK_OK(begin_some());
  if (is_over()) return {};
  show_progress();
  poll_once();
  SBX_CHECK_OK(results_->flush());
  SBX_CHECK_OK(take_answers());
  return lose_servers();
}

bool Batch::wants_more() const {
  return !stops_ && running_.size() + waiting_.size() < jobs_ && !results_->is_full();
}

void Batch::poll_once() {
  std::vector<struct pollfd> ready = {{signals_.get(), POLLIN, 0},
                                      {wants_more() ? input_->fd() : -1, POLLIN, 0},
                                      {results_->blocked_fd(), POLLOUT, 0}};
  const std::size_t first = ready.size();
  for (const auto& server : servers_) {
    const bool writes = server->lane.wants_to_write();
    ready.push_back({server->lane.fd(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), 0});
  }
  std::optional<Clock::time_point> until = give_up_;
  const auto no_later_than = [&](Clock::time_point when) {
    if (!until || when < *until) until = when;
  };
  if (!waiting_.empty()) no_later_than(waiting_.begin()->first);
  if (shows_progress_) no_later_than(shown_ + kProgressEvery);
  if (job_) no_later_than(Clock::now() + kAskAfter);
  if (poll(ready.data(), ready.size(), Loop::wait_ms(until)) < 0) return;
  take_signal();
  if (ready[1].revents != 0) input_->read();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const short events = ready[first + i].revents;
    Server& server = *servers_[i];
    if ((events & POLLOUT) != 0) server.lane.write();
    if ((events & ~POLLOUT) != 0) {
      server.lane.read();
      server.heard = Clock::now();
      server.was_asked = false;
    } else if (job_) {
      look_after(server);
    }
  }
}

void Batch::look_after(Server& server) {
  const auto silent = Clock::now() - server.heard;
  if (silent > kLostAfter) server.lane.give_up();
  if (silent < kAskAfter || server.was_asked) return;
  server.was_asked = true;
  server.lane.call(0, "hello", "{}");
}

// --- lines in

Status Batch::begin_some() {
  while (!waiting_.empty() && waiting_.begin()->first <= Clock::now()) {
    send(std::move(waiting_.extract(waiting_.begin()).mapped()));
  }
  while (wants_more()) {
    const std::optional<Line> line = input_->next();
    if (!line) return {};
    SBX_CHECK_OK(take_line(*line));
  }
  return {};
}

// A line without an id has its number in its place.
bool Batch::is_recorded(const Line& line, std::string_view id) {
  const unsigned marks = id.empty() ? ids_.marks(Results::line_key(line.number)) : ids_.marks(id);
  if ((marks & kRecorded) == 0) return false;
  summary_.add_recorded((marks & kFailed) != 0);
  return true;
}

Status Batch::take_line(const Line& line) {
  Result<TaskLine> task = line.too_long ? Result<TaskLine>(too_large()) : read_task_line(line.text);
  std::string id = task.ok()       ? task.value().id
                   : line.too_long ? id_of_beginning(line.head)
                                   : id_of_refused(line.text);
  if (task.ok() && task.value().params.size() > kMostParamsBytes) task = too_large();
  const bool is_ours = is_in_shard(line.number, options_.shard, options_.shards);
  // Every shard looks at every id, so that of a doubled one the first runs, wherever it is.
  if (!id.empty() && (ids_.mark(id, kSeen) & kSeen) != 0) {
    id.clear();
    task = Error{ErrorCode::kBadValue, "the id was used before in these tasks", "/id",
                 "give each task an id of its own"};
  }
  if (!is_ours || is_recorded(line, id)) return {};
  SBX_TRY(const std::string held, results_->take_held(id));
  if (!held.empty()) {
    SBX_TRY(const ResultLine result, read_result_line(held));
    summary_.add_recorded(result.ending != Ending::kDone);
    return add_result(next_turn_++, held);
  }
  if (!task.ok()) return refuse(id, line.number, task.error());
  Task begun;
  begun.id = std::move(id);
  begun.params = std::move(task.value().params);
  begun.line = line.number;
  begun.turn = next_turn_++;
  send(std::move(begun));
  return {};
}

Status Batch::refuse(const std::string& id, std::uint64_t line, const Error& error) {
  if (options_.fail_fast) stops_ = true;
  SBX_CHECK_OK(add_result(
      next_turn_++, error_line_of(id.empty() ? std::nullopt : std::optional(id), line, error)));
  summary_.add(Ending::kError);
  return {};
}

void Batch::send(Task task) {
  const std::uint64_t call = next_call_++;
  task.begin = Clock::now();
  ++task.tries;
  task.server =
      std::min_element(servers_.begin(), servers_.end(), [](const auto& a, const auto& b) {
        return a->running * b->jobs < b->running * a->jobs;
      })->get();
  ++task.server->running;
  task.server->lane.call(call, "run", task.params);
  running_.emplace(call, std::move(task));
}

// --- answers

Status Batch::take_answers() {
  for (const auto& server : servers_) {
    while (auto answer = server->lane.next()) {
      if (answer->call == 0) continue;  // only that it is there; or its end follows
      lost_ = 0;
      SBX_CHECK_OK(take_answer(*std::move(answer)));
    }
  }
  return {};
}

Status Batch::take_answer(Answer answer) {
  const auto found = running_.find(answer.call);
  if (found == running_.end()) return {};
  Task task = std::move(found->second);
  running_.erase(found);
  --task.server->running;
  std::string text;
  ResultLine result;
  if (answer.error) {
    if (answer.error->code == ErrorCode::kTooMany && !stops_) {
      --task.tries;
      waiting_.emplace(Clock::now() + kBusyWait, std::move(task));
      return {};
    }
    result.error_code = error_name(answer.error->code);
    // A mistake in the request is one of its line.
    const std::uint64_t line = can_pass(result.error_code) ? 0 : task.line;
    text = error_line_of(task.id, line, *answer.error);
  } else {
    text = result_line(task.id, answer.result);
    SBX_TRY(result, read_result_line(text));
  }
  // What keeps the results from the tasks has ended it: that says nothing of the command.
  if (result.error_where == kReplaced && results_->are_named(result.error_message)) {
    return results_->gone();
  }
  // What a signal cut off is left for --resume.
  if (signal_ != 0 && result.ending == Ending::kCancelled) return {};
  if (result.ending == Ending::kError && try_again(task, result.error_code)) return {};
  return finish(task, text, result);
}

bool Batch::try_again(Task& task, const std::string& error_code) {
  if (stops_ || task.tries > options_.retries || !can_pass(error_code)) return false;
  const auto wait =
      std::min(kLongestWait, kFirstWait * (1 << std::min<std::uint64_t>(task.tries - 1, 10)));
  waiting_.emplace(Clock::now() + wait, std::move(task));
  return true;
}

Status Batch::finish(const Task& task, std::string_view line, const ResultLine& result) {
  if (options_.fail_fast && result.ending != Ending::kDone) stops_ = true;
  SBX_CHECK_OK(add_result(task.turn, line));
  summary_.add(result.ending);
  summary_.add_time(std::chrono::duration<double, std::milli>(Clock::now() - task.begin).count());
  return {};
}

Status Batch::lose_servers() {
  for (auto at = servers_.begin(); at != servers_.end();) {
    if ((*at)->lane.is_open()) {
      ++at;
      continue;
    }
    SBX_CHECK_OK(lose(**at));
    jobs_ -= (*at)->jobs;
    at = servers_.erase(at);
  }
  if (!servers_.empty() || is_over()) return {};
  if (++lost_ >= kMostLost) {
    return Error{ErrorCode::kSessionFailed, "the session's server ends again and again", "",
                 "sbx-run serve may say why"};
  }
  return start_servers();
}

// A server has gone, and what ran in it too.
Status Batch::lose(Server& server) {
  const Error error{ErrorCode::kSessionFailed, "the session's server ended while it ran", "",
                    "--retries N tries again"};
  for (auto at = running_.begin(); at != running_.end();) {
    if (at->second.server != &server) {
      ++at;
      continue;
    }
    Task task = std::move(at->second);
    at = running_.erase(at);
    if (signal_ != 0) continue;
    ResultLine result;
    result.error_code = error_name(error.code);
    if (job_) {
      // A node that was lost says nothing of the command.
      --task.tries;
      waiting_.emplace(Clock::now(), std::move(task));
    } else if (!try_again(task, result.error_code)) {
      SBX_CHECK_OK(finish(task, error_line_of(task.id, 0, error), result));
    }
  }
  return {};
}

// --- the end

void Batch::take_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return;
  // A second one does not wait, nor for a server that hangs.
  for (const auto& server : servers_) {
    if (signal_ != 0) server->lane.kill();
  }
  give_up_ = Clock::now() + (signal_ != 0 ? milliseconds(0) : kLongestEnd);
  signal_ = static_cast<int>(info.ssi_signo);
  stops_ = true;
  waiting_.clear();
  for (const auto& [call, task] : running_) task.server->lane.cancel(call);
}

std::optional<std::uint64_t> Batch::left() const {
  const auto total = input_->count(options_.shard, options_.shards);
  if (!total) return std::nullopt;
  return *total - std::min(*total, summary_.settled());
}

std::string Batch::summary_line() const {
  const bool is_cut_off = stops_ || !input_->is_at_end();
  return summary_.line(is_cut_off ? left() : std::nullopt, is_cut_off);
}

// Behind no progress, where that is on the same terminal.
Status Batch::add_result(std::uint64_t turn, std::string_view line) {
  if (options_.results == "-" && isatty(STDOUT_FILENO) != 0) clear_progress();
  return results_->add(turn, line);
}

void Batch::show_progress() {
  if (!shows_progress_ || Clock::now() < shown_ + kProgressEvery) return;
  shown_ = Clock::now();
  struct winsize size {};
  const bool has_width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // One that is wrapped is not cleared.
  const std::size_t width = has_width ? size.ws_col - 1U : std::string::npos;
  write_all(STDERR_FILENO, "\r\033[K" + summary_.progress(total_).substr(0, width));
}

void Batch::clear_progress() {
  if (shows_progress_) write_all(STDERR_FILENO, "\r\033[K");
}

}  // namespace sbx::batch
