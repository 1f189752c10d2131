// SPDX-License-Identifier: Apache-2.0
// Service: all that can be asked of a session, as typed calls. The methods of RPC, the tools and
// MCP go through it; it keeps the calls that wait, and who follows which task. One thread, driven
// from outside: poll poll_fd() for reading until deadline(), then step().
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "guard/verdict.h"
#include "output/stream.h"
#include "plan/plan.h"
#include "report/audit_log.h"
#include "run/explained.h"
#include "session/follower.h"
#include "session/session.h"

namespace sbx {

using ClientId = std::uint64_t;
using TaskPointer = Session::TaskPointer;

struct ClientOptions {
  // Called from within step() and the calls; must not call back into the service.
  Follower::Notify notify;
  // What waits to be sent to this client, in bytes: output for a slow one is held back, not lost,
  // as far as the task's own buffer reaches. Null: never held back.
  std::function<std::size_t()> queued_bytes;
  // A request of HTTP waits for a person: approve() with the digest lets it go on, decline() ends
  // it. False: this client has nobody to ask.
  std::function<bool(const std::string& digest, const HttpQuestion& question)> ask = {};
  bool above_ceilings = false;  // lift_ceilings()
};

// Who asks, and where the answer goes.
struct Ask {
  // The task or run that was asked about, as it is now; null for a reset.
  using Reply = std::function<void(Result<TaskPointer> answer)>;

  ClientId client = 0;
  std::string id;  // the client's own name for the call, for cancel(); empty: it has none
  // Called exactly once, possibly before the call returns, and never after remove_client(); may
  // call again.
  Reply reply;
};

// What `run` and `start` take.
struct RunCall {
  Request request;
  SharedPolicy policy = nullptr;              // stands for the session's own
  bool is_followed = false;                   // the caller is told what the command writes
  bool in_shell = false;                      // `run` in the kept shell
  std::optional<TerminalSize> terminal = {};  // of a task that gets one
  std::string match = {};  // only whole lines that match this expression; of a task
};

// What an answer to `output` holds, and what follows it as events.
struct OutputCall {
  std::string task_id;
  std::uint64_t since = 0;
  bool is_followed = false;
  bool is_replayed = false;  // what there is comes as events as well, and is not in the answer
  std::string match = {};
};

struct ExplainedRequest {
  SharedPolicy policy;
  Explained run;
};

class Service {
 public:
  using Clock = Session::Clock;
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kGrace{2000};  // between SIGTERM and SIGKILL, where none is given

  explicit Service(SessionOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  const SessionOptions& options() const { return session_.options(); }
  ClientId add_client(ClientOptions options);
  // Cancels its runs; its tasks go on.
  void remove_client(ClientId client);
  // The limits that its requests name are the operator's own: no ceiling of the profile holds them.
  void lift_ceilings(ClientId client) { clients_.at(client).above_ceilings = true; }

  // --- commands. Errors are mistakes in the request; a refusal is an outcome.
  // Answered when the command has ended.
  void run(Ask ask, RunCall command);
  // Answered when the command has begun. What never_began() is no task: its outcome says why.
  void start(Ask ask, RunCall command);
  // The kept shell's task. Errors: those of its start.
  Result<TaskPointer> shell();
  Result<guard::Judgement> check(const Request& request,
                                 const SharedPolicy& policy = nullptr) const;
  // `reply`, at once or from step(); never where the client has gone.
  void explain(ClientId client, const Request& request,
               std::function<void(const Result<ExplainedRequest>&)> reply);
  // A call of this client that has not been answered yet: its command is killed, its reply says so.
  // False: there is none.
  bool cancel(ClientId client, std::string_view id);

  // --- tasks. Errors: kTaskNotFound.
  void status(Ask ask, std::string_view task_id);
  // The answer's text begins where output_begins() says. Errors: kOutOfRange, kBadValue.
  void output(Ask ask, const OutputCall& call);
  // Answered when the text is in the task's pipe. Errors: kBadValue, kTooMany.
  void write_stdin(Ask ask, std::string_view task_id, std::string text, bool close);
  // The bytes of these keys (keys.h), as the task's terminal sends them now. Errors: kBadValue.
  Result<std::string> key_text(std::string_view task_id, std::string_view keys);
  Result<TerminalSize> resize(std::string_view task_id, TerminalSize size);
  // What can be seen on the task's terminal, as sbx-screen says it. Errors: kBadValue, where it has
  // none; those of TaskTerminal.
  Status screen(ClientId client, std::string_view task_id, TaskTerminal::Reply reply);
  // The same as escapes; from there on the client is told what is written, and it is this client's
  // own terminal that answers to the program.
  using AttachReply = std::function<void(const Result<std::string>& repaint, const Task& task)>;
  Status attach(ClientId client, std::string_view task_id, std::optional<TerminalSize> size,
                AttachReply reply);
  // Answered when the task has ended, or the time is over.
  void wait(Ask ask, std::string_view task_id, std::optional<std::int64_t> timeout_ms);
  // Answered when nothing of the task is left.
  void kill(Ask ask, std::string_view task_id, Milliseconds grace = kGrace);
  std::vector<TaskPointer> list();

  // --- the session
  // Answered when every task has ended. Errors: kSessionFailed, where the workspace is not empty.
  void reset(Ask ask, Milliseconds grace = kGrace);
  // The caller speaks for the operator. Errors: kBadValue for what is no digest, and for a request
  // of HTTP that does not wait any more.
  Status approve(std::string_view digest);
  // Whether that was being asked.
  bool decline(std::string_view digest);
  // What waits for a person: requests of commands, and of HTTP by their digests.
  struct HttpAsked {
    std::uint64_t question = 0;  // of the process
    HttpQuestion about;
  };
  using HttpQuestions = std::map<std::string, HttpAsked, std::less<>>;
  const std::deque<Question>& questions() { return session_.approvals().questions(); }
  HttpQuestions http_questions() const;
  void shutdown(Milliseconds grace = kGrace);
  // An action of sbx-layer. Errors: kBadValue, where the session holds no layer and none is named;
  // those of Session::act().
  struct LayerCall {
    ClientId client = 0;
    std::string action;
    std::string name;  // empty: the session's own
    std::vector<std::string> paths;
    std::string word;  // a label, a new name; empty: none
    bool changes = false;
    std::string id = {};  // as of a request; empty: it cannot be cancelled
    // The answer as it may be shown, without what is secret in the session's commands; on a thread
    // of its own. Null: as it is.
    Result<LayerAnswer> (*shown)(const RedactionInput& redaction,
                                 const LayerAnswer& answer) = nullptr;
  };
  Status act(const LayerCall& call, const LayerAct::Reply& reply);
  // Without what is secret in the session's commands.
  Error redacted(Error error) const;
  // A call that is refused for its params is in the audit log; its texts lose their secrets.
  void record_refused(std::string& command, Error& error);
  bool has_layer() const { return session_.layer() != nullptr; }

  void note_call() { session_.note_call(); }
  int poll_fd() const { return session_.poll_fd(); }
  std::optional<Clock::time_point> deadline() const;
  void step();  // never blocks

  bool is_idle() const { return session_.is_idle(); }  // neither runs nor tasks that still run
  // Ends every run and task: SIGTERM, after the grace SIGKILL. is_idle() becomes true.
  void end_all(const std::string& reason = "shutdown") { session_.end_all(reason, kGrace); }
  bool wants_shutdown() const { return shutdown_ || session_.has_lost_owner(); }

 private:
  // Errors: those of choose_redaction().
  Result<RedactionInput> redaction_input() const;

  enum class Waits : std::uint8_t { kRun, kBegin, kEnd, kStdin, kReset };
  // A call that waits for something to happen.
  struct Call {
    Ask ask;
    Waits waits = Waits::kEnd;
    TaskPointer task;  // null for kReset
    std::optional<Clock::time_point> until;
    std::optional<Follower> follower{};  // of kBegin: for the caller, once it knows the task
    bool is_cancelled = false;           // the task's end is the answer, even if it has begun
  };
  using CallKey = std::uint64_t;
  struct Following {
    TaskPointer task;
    Follower follower;
    bool is_told_of_cancel = false;
  };
  using FollowKey = std::pair<const Task*, ClientId>;
  struct Answer {
    Ask ask;
    Result<TaskPointer> result;
    // It holds all of the task's output, and thousands may wait for one task: it is given only when
    // the client takes it.
    bool is_large = false;
  };

  bool ask_clients(std::uint64_t question, const HttpQuestion& about);
  bool answer_question(std::string_view digest, bool is_allowed);
  Status check_audit();
  Result<TaskPointer> begin(ClientId client, TaskKind kind, RunCall& command);
  Status try_run(Ask& ask, RunCall& command);
  Status try_start(Ask& ask, RunCall& command);
  Status try_output(Ask& ask, const OutputCall& call);
  Status try_write_stdin(Ask& ask, std::string_view task_id, std::string text, bool close);
  Result<TaskPointer> find(std::string_view task_id);
  Result<TaskPointer> find_running(std::string_view task_id);
  Result<TaskPointer> find_terminal(std::string_view task_id);
  const SharedPolicy& policy_or_own(const SharedPolicy& policy) const;

  void finish(Ask& ask, Status status);
  void record(const LayerCall& call, const std::string& name, std::int64_t began, int status);
  void answer(Ask ask, Result<TaskPointer> result, bool is_large = false);
  CallKey await(Ask ask, Waits waits, TaskPointer task,
                std::optional<std::int64_t> timeout_ms = std::nullopt);
  void await_end(Ask ask, TaskPointer task, std::optional<std::int64_t> timeout_ms);
  void answer_call(CallKey key, Result<TaskPointer> result);
  void answer_call(CallKey key);  // with its task
  void answer_begun(CallKey key);
  void answer_begun(std::vector<TaskPointer>& told);
  void answer_ended(const TaskPointer& task);
  void answer_late();
  void answer_resets();
  void send_answers();

  void follow(ClientId client, const TaskPointer& task, Follower follower);
  void tell_followers(const Task& task);
  bool tell(const FollowKey& key, Following& following, bool at_once);
  bool is_slow(ClientId client) const;
  Follower::Notify notify_of(ClientId client) const;

  Session session_;
  Result<Audit> audit_;
  std::map<ClientId, ClientOptions> clients_;
  ClientId next_client_ = 1;
  HttpQuestions questions_;  // also those that were answered or are over, some of them
  std::map<CallKey, Call> calls_;
  CallKey next_call_ = 1;
  std::size_t beginning_ = 0;  // calls of kBegin
  std::map<FollowKey, Following> following_;
  bool is_held_ = false;  // something could not be told to a slow client
  std::deque<Answer> answers_;
  std::deque<Answer> held_answers_;  // for clients that are slow
  bool is_sending_ = false;
  bool shutdown_ = false;
};

// Where the text of the answer to `call` begins.
inline std::uint64_t output_begins(const OutputCall& call, const Task& task) {
  return call.is_followed && call.is_replayed ? task.output().end() : call.since;
}

}  // namespace sbx
