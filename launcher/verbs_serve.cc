// SPDX-License-Identifier: Apache-2.0
// serve: a session behind JSON-RPC, on standard input and output, on a socket, or on a descriptor
// that was handed over.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/files.h"
#include "base/hex.h"
#include "base/text.h"
#include "flag_table.h"
#include "flags.h"
#include "host_files/leftovers.h"
#include "host_files/places.h"
#include "json/writer.h"
#include "prepare.h"
#include "rpc/server.h"
#include "rpc/socket_place.h"
#include "scope.h"
#include "serve_protocol.h"
#include "session_client.h"
#include "tool_policy.h"
#include "verbs.h"

namespace sbx {
namespace {

// Kept ready for the next commands; each is under 1 MiB.
constexpr std::size_t kWarmSandboxes = 2;

bool is_on_socket(const RunOptions& options) {
  return !options.socket.empty() || !options.session.empty();
}

Result<std::string> make_token() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return call_failed(ErrorCode::kSetupFailed, "getrandom", "getrandom");
  }
  std::string token;
  for (const unsigned char byte : bytes) append_hex(token, byte);
  return token;
}

// The members that every client is greeted with.
std::string greeting_members(const RunOptions& options, const SessionFlags& flags,
                             const Policy& policy, const std::string& token) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("version");
  json.string(SBX_VERSION);
  json.key("protocol");
  json.integer(kServeProtocol);
  json.key("pid");
  json.integer(getpid());
  json.key("session");
  json.string_or_null(options.session);
  json.key("profile");
  json.string(policy.run.name);
  json.key("workspace");
  json.string(policy.sandbox.workspace);
  json.key("options");
  json.verbatim(flags_json(without_secrets(flags, token)));
  json.end_object();
  return text.substr(1, text.size() - 2);
}

// What the starter reads first. `path` may be empty.
std::string ready_json(const std::string& path, std::string_view token) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("socket");
  json.string_or_null(path);
  json.key("pid");
  json.integer(getpid());
  json.key("operator_token");
  json.string_or_null(token);
  json.end_object();
  return text;
}

Result<OwnedFd> own_copy(int fd) {
  OwnedFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (copy.is_open()) return copy;
  return call_failed(ErrorCode::kSetupFailed, "fcntl(F_DUPFD_CLOEXEC)", "fcntl");
}

void point_at_null(int fd) {
  const OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.is_open()) dup2(null.get(), fd);
}

Result<Connection::Ends> standard_ends() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) SBX_CHECK_OK(check_standard_descriptor(fd));
  Connection::Ends ends;
  SBX_TRY(ends.in, own_copy(STDIN_FILENO));
  SBX_TRY(ends.out, own_copy(STDOUT_FILENO));
  ends.may_block = true;
  point_at_null(STDIN_FILENO);
  point_at_null(STDOUT_FILENO);
  return ends;
}

Result<Connection::Ends> handed_over(const std::string& text) {
  const auto number = parse_count(text, 1 << 20);
  const int fd = number ? static_cast<int>(*number) : -1;
  int type = 0;
  socklen_t size = sizeof type;
  if (fd < 3 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return Error{ErrorCode::kBadFlag, "bad value for --fd: '" + text + "'", "--fd",
                 "the number, from 3, of a connected stream socket"};
  }
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  Connection::Ends ends;
  ends.in.reset(fd);
  return ends;
}

class Serving {
 public:
  Serving(RunOptions options, const Invocation& invocation)
      : options_(std::move(options)), invocation_(invocation) {}

  // Errors: what kept the server from coming up.
  Status serve() {
    // It executes everything anew: nothing may stand yet.
    if (options_.scope) SBX_CHECK_OK(take_scope(invocation_));
    // Before anything is opened here that might have its number.
    if (!options_.fd.empty()) {
      SBX_TRY(handed_, handed_over(options_.fd));
    }
    if (options_.workspace.empty() && options_.template_dir.empty()) {
      options_.workspace = kOwnWorkspace;
    }
    SBX_TRY(flags_, session_flags(options_, *invocation_.verb));
    SBX_TRY(const OwnedFd signals, signal_descriptor(false));
    SBX_TRY(const OwnedFd owner, owner_of_server());
    // First of all the watchdog, so that at no moment something stands there that nobody removes.
    if (is_on_socket(options_)) {
      SBX_TRY(SocketPlace place, choose_place());
      place_.emplace(std::move(place));
    }
    Leftovers leftovers;
    if (place_) SBX_CHECK_OK(leftovers.announce(Left::kSocket, {place_->place_mark()}));
    OwnedFd listener;
    if (place_) {
      bool is_taken = false;
      SBX_CHECK_OK(place_->listen(listener, is_taken));
      SBX_CHECK_OK(leftovers.announce(Left::kMark, {place_->mark()}));
      if (is_taken) return answer_taken();
    }
    const bool is_own = options_.workspace == kOwnWorkspace;
    if (is_own && !options_.layer.empty()) {
      return Error{ErrorCode::kBadFlag, "a workspace that goes with its session has no layers",
                   "--layer", "name one that stays: --workspace DIR"};
    }
    if (is_own) {
      SBX_TRY(options_.workspace,
              leftovers.make_workspace(workspace_places(invocation_.environment)));
    }
    SBX_TRY(SessionOptions session, prepare_session(options_, invocation_));
    session.name = options_.session;
    // Where each run has a workspace of its own, there is none of the session's to clear.
    const bool is_fresh = session.policy->run.workspace.mode == WorkspaceMode::kFresh;
    session.own_workspace = is_own && !is_fresh;
    session.warm = kWarmSandboxes;
    session.owner_pidfd = owner.get();
    ServerOptions server;
    if (!options_.idle.empty()) {
      server.limits.idle = std::chrono::milliseconds(*parse_duration_ms(options_.idle));
    }
    SBX_TRY(server.greeting.operator_token, make_token());
    server.greeting.members =
        greeting_members(options_, flags_, *session.policy, server.greeting.operator_token);
    server.listener = std::move(listener);
    server.signal_fd = signals.get();
    server.owner_pidfd = owner.get();
    server.before_leaving = [this] {
      if (place_) place_->remove();
    };
    return loop(std::move(session), std::move(server));
  }

 private:
  // A server on a stream is its starter's, as a plain run is; one behind a socket is nobody's.
  Result<OwnedFd> owner_of_server() const {
    if (options_.owner_pid.empty() && is_on_socket(options_)) return OwnedFd();
    return owner_descriptor(options_.owner_pid);
  }

  Result<SocketPlace> choose_place() const {
    std::string name = socket_name(options_.session);
    Directory directory;
    if (options_.session.empty()) {
      const std::size_t slash = options_.socket.rfind('/');
      name = options_.socket.substr(slash == std::string::npos ? 0 : slash + 1);
      if (name.empty() || name == "." || name == "..") {
        return Error{ErrorCode::kBadFlag, "bad value for --socket: '" + options_.socket + "'",
                     "--socket", "a path with a name for the socket at its end"};
      }
      SBX_TRY(directory, open_socket_directory(options_.socket));
    } else {
      SBX_CHECK_OK(check_session_name(options_.session));
      SBX_TRY(directory, runtime_directory(invocation_.environment));
    }
    return SocketPlace(std::move(directory), name);
  }

  // Two starters at once: the first one's server serves both.
  Status answer_taken() const {
    const std::string path = place_->path();
    if (options_.session.empty()) {
      return Error{ErrorCode::kSessionFailed, "another server answers on " + path, "--socket",
                   "end it, or name another socket"};
    }
    write_all(STDOUT_FILENO, ready_json(path, "") + "\n");
    return {};
  }

  Status loop(SessionOptions session, ServerOptions options) {
    const std::string token = options.greeting.operator_token;
    Connection::Ends ends;
    const bool is_standard = !is_on_socket(options_) && options_.fd.empty();
    if (is_standard) {
      SBX_TRY(ends, standard_ends());
    } else if (!options_.fd.empty()) {
      ends = std::move(handed_);
    }
    if (place_ && !options_.session.empty()) SBX_CHECK_OK(place_->write_token(token));
    Service service(std::move(session));
    ToolRunner tools(service, tool_policies(options_, invocation_));
    Dispatcher dispatcher(service, &tools);
    Server server(dispatcher, std::move(options));
    if (place_) {
      const std::string path = place_->path();
      write_all(STDOUT_FILENO, ready_json(path, token) + "\n");
      point_at_null(STDOUT_FILENO);
    } else {
      // Who handed the descriptor over gets the token, and shows it where it acts as the operator.
      if (!is_standard) {
        write_all(ends.in.get(), write_notification("server.ready", ready_json("", token)) + "\n");
      }
      server.add_stream(std::move(ends), is_standard);
    }
    return server.run();
  }

  RunOptions options_;
  const Invocation& invocation_;
  SessionFlags flags_;
  std::optional<SocketPlace> place_;
  Connection::Ends handed_;  // by --fd
};

Status check_ways(const RunOptions& options) {
  const int ways = (options.socket.empty() ? 0 : 1) + (options.fd.empty() ? 0 : 1) +
                   (options.session.empty() ? 0 : 1);
  if (ways > 1) {
    return Error{ErrorCode::kBadFlag, "--socket, --session and --fd exclude each other", "--socket",
                 "choose one"};
  }
  if (!options.idle.empty() && !parse_duration_ms(options.idle)) {
    return Error{ErrorCode::kBadFlag, "bad value for --idle: '" + options.idle + "'", "--idle",
                 "a time such as 10s, 500ms or 2m"};
  }
  return {};
}

}  // namespace

int verb_serve(const Invocation& invocation) {
  RunOptions options;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  Status status = parsed.ok() ? check_ways(options) : Status(parsed.error());
  if (status.ok()) status = Serving(std::move(options), invocation).serve();
  if (status.ok()) return 0;
  return refuse(status.error(), invocation);
}

}  // namespace sbx
