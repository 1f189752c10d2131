// SPDX-License-Identifier: Apache-2.0
// The calls, clients that leave, and the loop.
#include "session/service.h"

#include <sys/random.h>

#include <algorithm>

#include "base/hex.h"
#include "base/text.h"
#include "kept/command.h"
#include "policy/request.h"
#include "run/answer.h"
#include "run/redaction.h"
#include "session/keys.h"

namespace sbx {
namespace {

constexpr std::size_t kSlowBytes = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kLookAtSlowAgain{20};
// A program may lie where an exec takes its time: the answer to `start` does not wait for that.
constexpr std::int64_t kLongestBeginMs = 20'000;

}  // namespace

Service::Service(SessionOptions options)
    : session_(std::move(options)),
      audit_(Audit::open(*session_.options().policy, session_.options().name)) {
  if (session_.options().http == nullptr) return;
  session_.options().http->set_ask([this](std::uint64_t question, const HttpQuestion& about) {
    return ask_clients(question, about);
  });
}

Service::~Service() {
  if (session_.options().http != nullptr) session_.options().http->set_ask(nullptr);
}

// --- clients ---

ClientId Service::add_client(ClientOptions options) {
  clients_.emplace(next_client_, std::move(options));
  return next_client_++;
}

void Service::remove_client(ClientId client) {
  clients_.erase(client);
  session_.cancel_acts(client, {});
  std::erase_if(following_, [&](const auto& entry) {
    if (entry.first.second != client) return false;
    if (TaskTerminal* const terminal = entry.second.task->terminal()) terminal->detach(client);
    return true;
  });
  for (auto at = calls_.begin(); at != calls_.end();) {
    if (at->second.ask.client != client) {
      ++at;
      continue;
    }
    if (at->second.waits == Waits::kRun) session_.cancel(*at->second.task);
    if (at->second.waits == Waits::kBegin) --beginning_;  // its task goes on
    at = calls_.erase(at);
  }
}

bool Service::is_slow(ClientId client) const {
  const auto found = clients_.find(client);
  return found != clients_.end() && found->second.queued_bytes &&
         found->second.queued_bytes() > kSlowBytes;
}

Follower::Notify Service::notify_of(ClientId client) const {
  return [this, client](const TaskEvent& event) {
    const auto found = clients_.find(client);
    if (found != clients_.end() && found->second.notify) found->second.notify(event);
  };
}

// --- commands ---

const SharedPolicy& Service::policy_or_own(const SharedPolicy& policy) const {
  return policy == nullptr ? session_.options().policy : policy;
}

Status Service::check_audit() { return audit_.ok() ? audit_.value().check() : audit_.error(); }

// What ends at once is logged here, the rest when it ends: step().
Result<TaskPointer> Service::begin(ClientId client, TaskKind kind, RunCall& command) {
  SBX_CHECK_OK(check_audit());
  if (const auto asks = clients_.find(client); asks != clients_.end()) {
    command.request.above_ceilings = asks->second.above_ceilings;
  }
  Result<TaskPointer> begun =
      command.in_shell ? session_.run_in_shell(kind, std::move(command.request), command.policy)
                       : session_.start(kind, std::move(command.request), command.policy,
                                        command.terminal.value_or(TerminalSize{}));
  SBX_TRY(const TaskPointer task, std::move(begun));
  if (!task->is_running()) audit_.value().record(*task->outcome());
  return task;
}

Status Service::try_run(Ask& ask, RunCall& command) {
  SBX_TRY(
      const TaskPointer task,
      begin(ask.client, command.is_followed ? TaskKind::kStreamedRun : TaskKind::kRun, command));
  if (!task->is_running()) {
    answer(std::move(ask), task);
    return {};
  }
  if (command.is_followed) {
    SBX_TRY(Follower follower, Follower::make("", 0, ask.id));
    follow(ask.client, task, std::move(follower));
  }
  await(std::move(ask), Waits::kRun, task);
  return {};
}

Result<TaskPointer> Service::shell() {
  SBX_CHECK_OK(check_audit());
  return session_.shell();
}

void Service::run(Ask ask, RunCall command) { finish(ask, try_run(ask, command)); }

Status Service::try_start(Ask& ask, RunCall& command) {
  SBX_TRY(Follower follower, Follower::make(command.match, 0));
  SBX_TRY(const TaskPointer task,
          begin(ask.client, command.terminal ? TaskKind::kTerminal : TaskKind::kTask, command));
  if (!task->is_running()) {
    session_.forget(*task);
    answer(std::move(ask), task);
    return {};
  }
  // What keeps a command from beginning is known within a launch's few milliseconds, and is the
  // answer then.
  const CallKey key = await(std::move(ask), Waits::kBegin, task, kLongestBeginMs);
  if (command.is_followed) calls_.at(key).follower = std::move(follower);
  ++beginning_;
  return {};
}

void Service::start(Ask ask, RunCall command) { finish(ask, try_start(ask, command)); }

Result<guard::Judgement> Service::check(const Request& request, const SharedPolicy& policy) const {
  SBX_TRY(const SharedPolicy own, apply_request(policy_or_own(policy), request));
  const Environment base = make_environment(*own, options().inherited, options().facts.user_name);
  Result<guard::Judgement> judgement = shown_judgement(*own, request, base);
  if (!judgement.ok()) return named_by_request(judgement.error());
  return judgement;
}

void Service::explain(ClientId client, const Request& request,
                      std::function<void(const Result<ExplainedRequest>&)> reply) {
  const Result<SharedPolicy> own = apply_request(options().policy, request);
  if (!own.ok()) return reply(own.error());
  session_.look_for_patterns(own.value(),
                             [this, client, request, own = own.value(), reply = std::move(reply)](
                                 const Status& looked, Expansions& expansions) {
                               if (!clients_.contains(client)) return;
                               if (!looked.ok()) return reply(named_by_request(looked.error()));
                               RunInput input{*own, request, options().facts, options().inherited};
                               input.merge = request.merge;
                               Result<Explained> explained = explain_command(input, &expansions);
                               if (!explained.ok())
                                 return reply(named_by_request(explained.error()));
                               reply(ExplainedRequest{own, std::move(explained).value()});
                             });
}

bool Service::cancel(ClientId client, std::string_view id) {
  std::vector<CallKey> found;
  for (const auto& [key, call] : calls_) {
    if (call.ask.client == client && !id.empty() && call.ask.id == id) found.push_back(key);
  }
  const bool was_layers = !id.empty() && session_.cancel_acts(client, id);
  for (const CallKey key : found) {
    Call& call = calls_.at(key);
    if (call.waits == Waits::kRun || call.waits == Waits::kBegin) {
      call.is_cancelled = true;
      session_.cancel(*call.task);
    } else {
      answer_call(key, Error{ErrorCode::kCancelled, "the request was cancelled", "", ""});
    }
  }
  send_answers();
  return was_layers || !found.empty();
}

// --- tasks ---

Result<TaskPointer> Service::find(std::string_view task_id) {
  session_.forget_old();
  if (TaskPointer task = session_.find(task_id)) return task;
  return Error{ErrorCode::kTaskNotFound,
               "no such task: " + escape_control_bytes(task_id.substr(0, 100)), "/task_id",
               "`list` names those that there are; ended ones are kept for a while"};
}

void Service::status(Ask ask, std::string_view task_id) {
  Result<TaskPointer> task = find(task_id);
  answer(std::move(ask), std::move(task), true);
  send_answers();
}

Status Service::try_output(Ask& ask, const OutputCall& call) {
  SBX_TRY(const TaskPointer task, find(call.task_id));
  const std::uint64_t end = task->output().end();
  if (call.since > end) {
    return Error{ErrorCode::kOutOfRange,
                 "must be at most " + std::to_string(end) + ", where the output ends", "/since",
                 "give the \"next\" of the answer before"};
  }
  if (call.is_followed) {
    // Lines that match in what is there are told as well.
    const bool is_told = call.is_replayed || !call.match.empty();
    SBX_TRY(Follower follower, Follower::make(call.match, is_told ? call.since : end));
    follow(ask.client, task, std::move(follower));
  }
  answer(std::move(ask), task);
  return {};
}

void Service::output(Ask ask, const OutputCall& call) { finish(ask, try_output(ask, call)); }

Result<TaskPointer> Service::find_running(std::string_view task_id) {
  SBX_TRY(TaskPointer task, find(task_id));
  if (task->is_running()) return task;
  return Error{ErrorCode::kBadValue, "the task has ended", "/task_id", "start it again"};
}

Status Service::try_write_stdin(Ask& ask, std::string_view task_id, std::string text, bool close) {
  SBX_TRY(const TaskPointer task, find_running(task_id));
  const CallKey key = await(ask, Waits::kStdin, task);
  Status pushed = task->input().push(std::move(text), close, [this, key](Status status) {
    if (status.ok()) return answer_call(key);
    answer_call(key, std::move(status.error()));
  });
  if (!pushed.ok()) {
    calls_.erase(key);
    return pushed;
  }
  session_.write_stdin(*task);
  session_.note_typing(*task);
  return {};
}

void Service::write_stdin(Ask ask, std::string_view task_id, std::string text, bool close) {
  finish(ask, try_write_stdin(ask, task_id, std::move(text), close));
}

// --- terminals ---

Result<TaskPointer> Service::find_terminal(std::string_view task_id) {
  SBX_TRY(TaskPointer task, find(task_id));
  if (task->terminal() != nullptr) return task;
  return Error{ErrorCode::kBadValue, "the task has no terminal", "/task_id",
               "start it with `pty` (sbx-run start --pty)"};
}

Result<std::string> Service::key_text(std::string_view task_id, std::string_view keys) {
  SBX_TRY(const TaskPointer task, find_terminal(task_id));
  return key_bytes(keys, task->terminal()->modes().has_application_cursor());
}

Result<TerminalSize> Service::resize(std::string_view task_id, TerminalSize size) {
  SBX_CHECK_OK(find_running(task_id));
  SBX_TRY(const TaskPointer task, find_terminal(task_id));
  task->terminal()->resize(size);
  return task->terminal()->size();
}

Status Service::screen(ClientId client, std::string_view task_id, TaskTerminal::Reply reply) {
  SBX_TRY(const TaskPointer task, find_terminal(task_id));
  task->terminal()->ask(ScreenProcess::kText, [this, client, reply = std::move(reply)](
                                                  const Result<std::string>& answer) {
    if (clients_.contains(client)) reply(answer);
  });
  return {};
}

Status Service::attach(ClientId client, std::string_view task_id, std::optional<TerminalSize> size,
                       AttachReply reply) {
  SBX_TRY(const TaskPointer task, find_terminal(task_id));
  if (size) task->terminal()->resize(*size);
  session_.note_typing(*task);
  task->terminal()->ask(ScreenProcess::kRepaint,
                        [this, client, task, begin = task->output().end(),
                         reply = std::move(reply)](const Result<std::string>& answer) {
                          if (!clients_.contains(client)) return;
                          reply(answer, *task);
                          if (!task->is_running()) return;
                          Result<Follower> follower = Follower::make("", begin);
                          task->terminal()->attach(client);
                          follow(client, task, std::move(follower).value());
                        });
  return {};
}

void Service::await_end(Ask ask, TaskPointer task, std::optional<std::int64_t> timeout_ms) {
  if (task->is_running()) {
    await(std::move(ask), Waits::kEnd, std::move(task), timeout_ms);
  } else {
    answer(std::move(ask), std::move(task), true);
  }
}

void Service::wait(Ask ask, std::string_view task_id, std::optional<std::int64_t> timeout_ms) {
  Result<TaskPointer> task = find(task_id);
  if (!task.ok()) return finish(ask, task.error());
  await_end(std::move(ask), std::move(task).value(), timeout_ms);
  send_answers();
}

void Service::kill(Ask ask, std::string_view task_id, Milliseconds grace) {
  Result<TaskPointer> task = find(task_id);
  if (!task.ok()) return finish(ask, task.error());
  session_.terminate(*task.value(), grace);
  await_end(std::move(ask), std::move(task).value(), std::nullopt);
  send_answers();
}

std::vector<TaskPointer> Service::list() {
  session_.forget_old();
  return session_.tasks();
}

// --- the session ---

void Service::reset(Ask ask, Milliseconds grace) {
  session_.reset(grace);
  await(std::move(ask), Waits::kReset, nullptr);
}

Status Service::approve(std::string_view digest) {
  if (digest.size() != 64 || !is_hex(digest)) {
    return Error{ErrorCode::kBadValue, "not a digest: 64 hexadecimal digits", "/digest",
                 "give the digest of an answer with status needs_approval"};
  }
  if (answer_question(digest, true)) return {};
  if (questions_.contains(digest)) {
    return Error{ErrorCode::kBadValue, "the request does not wait any more", "/digest",
                 "it was answered, it was given up, or its time is over"};
  }
  session_.approvals().grant(digest);
  return {};
}

// All that have somebody to ask: the first answer counts.
bool Service::ask_clients(std::uint64_t question, const HttpQuestion& about) {
  constexpr std::size_t kMostKnown = 1024;
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != static_cast<ssize_t>(sizeof nonce)) return false;
  const std::string digest = stamp_approval(about.method + " " + about.url + " " + about.rule,
                                            Approvals::Clock::now(), nonce);
  bool is_asked = false;
  for (const auto& [id, client] : clients_) {
    if (client.ask && client.ask(digest, about)) is_asked = true;
  }
  if (is_asked && questions_.size() >= kMostKnown) questions_ = http_questions();
  if (is_asked) questions_[digest] = {question, about};
  return is_asked;
}

Service::HttpQuestions Service::http_questions() const {
  HttpQuestions waiting = questions_;
  std::erase_if(waiting, [this](const auto& entry) {
    return !session_.options().http->is_asked(entry.second.question);
  });
  return waiting;
}

bool Service::decline(std::string_view digest) {
  return answer_question(digest, false) || session_.approvals().close(digest);
}

bool Service::answer_question(std::string_view digest, bool is_allowed) {
  const auto found = questions_.find(digest);
  return found != questions_.end() &&
         session_.options().http->answer(found->second.question, is_allowed);
}

void Service::shutdown(Milliseconds grace) {
  shutdown_ = true;
  session_.end_all("shutdown", grace);
}

// --- the loop ---

std::optional<Service::Clock::time_point> Service::deadline() const {
  auto until = session_.deadline().value_or(Clock::time_point::max());
  if (!answers_.empty()) until = Clock::now();
  if (is_held_) until = std::min(until, Clock::now() + kLookAtSlowAgain);
  for (const auto& [key, call] : calls_) {
    if (call.until) until = std::min(until, *call.until);
  }
  return until == Clock::time_point::max() ? std::nullopt : std::optional(until);
}

Status Service::act(const LayerCall& call, const LayerAct::Reply& reply) {
  if (call.changes) SBX_CHECK_OK(check_audit());
  const Policy& policy = *options().policy;
  const KeptLayer* const own = session_.layer();
  if (call.name.empty() && own == nullptr && call.action != "list") {
    return Error{ErrorCode::kBadValue, "the session holds no layer", "/name",
                 "name one, or start the session with --layer"};
  }
  const std::string name = call.name.empty() && own != nullptr ? own->name() : call.name;
  std::vector<std::string> words = {call.action, "--workspace", policy.sandbox.workspace, "--json"};
  if (call.action == "diff") words.emplace_back("--patch");
  const bool changes = call.changes && own != nullptr && name == own->name();
  if (call.action != "list") words.push_back("--name=" + name);
  if (!call.word.empty()) words.push_back("--argument=" + call.word);
  for (std::size_t i = 0; i < call.paths.size(); ++i) {
    SBX_TRY(const std::string whole,
            normal_path(call.paths[i], policy.sandbox.workspace, "/paths/" + std::to_string(i)));
    words.push_back("--argument=" + whole);
  }
  LayerAct act{changes, call.client, call.id, {}, {}};
  act.reply = [this, call, name, reply, began = unix_ms()](const Result<LayerAnswer>& answer) {
    if (call.changes) record(call, name, began, answer.ok() ? answer.value().status : 125);
    if (clients_.contains(call.client)) reply(answer);
  };
  if (call.shown != nullptr) {
    SBX_TRY(RedactionInput redaction, redaction_input());
    act.shown = [shown = call.shown, redaction = std::move(redaction)](const LayerAnswer& answer) {
      return shown(redaction, answer);
    };
  }
  if (call.action != "commit" && call.action != "diff") {
    return session_.act(std::move(words), std::move(act));
  }
  session_.look_for_patterns(
      options().policy, [this, words = std::move(words), act = std::move(act)](const Status& looked,
                                                                               Expansions& found) {
        std::vector<std::string> all = words;
        Status begun = looked;
        if (begun.ok()) begun = add_policy_words(all, *options().policy, &found);
        if (begun.ok()) begun = session_.act(std::move(all), act);
        if (!begun.ok()) act.reply(begun.error());
      });
  return {};
}

Result<RedactionInput> Service::redaction_input() const {
  const Policy& policy = *options().policy;
  return choose_redaction(policy,
                          make_environment(policy, options().inherited, options().facts.user_name));
}

Error Service::redacted(Error error) const {
  const Result<RedactionInput> redaction = redaction_input();
  if (!redaction.ok()) return redaction.error();
  error = shortened(std::move(error));
  redact_texts(redaction.value(), {&error.message, &error.where});
  return error;
}

void Service::record_refused(std::string& command, Error& error) {
  error = redacted(std::move(error));
  const Result<RedactionInput> redaction = redaction_input();
  if (!redaction.ok()) return command.clear();
  redact_texts(redaction.value(), {&command});
  if (!audit_.ok()) return;
  Outcome outcome;
  outcome.status = RunStatus::kError;
  outcome.command = command;
  outcome.cwd = options().policy->sandbox.workspace;
  outcome.sandbox.profile = options().policy->run.name;
  outcome.sandbox.managed = options().policy->run.managed;
  outcome.started_at_ms = unix_ms();
  outcome.error = error;
  audit_.value().record(outcome);
}

// What changes a layer, or the workspace from one, is in the audit log as commands are.
void Service::record(const LayerCall& call, const std::string& name, std::int64_t began,
                     int status) {
  LayerEvent event{options().policy->sandbox.workspace,
                   options().policy->run.name,
                   options().policy->run.managed,
                   {call.action, name}};
  event.words.insert(event.words.end(), call.paths.begin(), call.paths.end());
  if (!call.word.empty()) event.words.push_back(call.word);
  event.began_ms = began;
  event.ended_ms = unix_ms();
  event.is_done = status == 0;
  Outcome outcome = layer_outcome(event);
  audit_.value().record(outcome);
}

void Service::step() {
  session_.step();
  const std::vector<TaskPointer> changed = session_.take_changed();
  std::vector<TaskPointer> told = changed;
  if (std::exchange(is_held_, false)) {
    for (const auto& [key, following] : following_) {
      if (told.empty() || told.back() != following.task) told.push_back(following.task);
    }
    for (Answer& held : held_answers_) answers_.push_back(std::move(held));
    held_answers_.clear();
  }
  answer_begun(told);
  send_answers();  // of a start, before what its task says
  for (const TaskPointer& task : told) {
    const auto begun = Clock::now();
    tell_followers(*task);
    session_.charge(*task, begun);
  }
  for (const TaskPointer& task : changed) {
    if (task->is_running()) continue;
    if (audit_.ok()) audit_.value().record(*task->outcome());
    answer_ended(task);
  }
  answer_late();
  answer_resets();
  send_answers();
}

}  // namespace sbx
