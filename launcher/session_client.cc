// SPDX-License-Identifier: Apache-2.0
// Finding, starting and asking.
#include "session_client.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/pointers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "json/writer.h"
#include "profile/upstream.h"
#include "rpc/json_rpc.h"
#include "serve_protocol.h"
#include "sys/calls.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::string_view kDigestMark = " sha256:";
constexpr int kAttempts = 20;
constexpr int kStartMilliseconds = 15'000;  // and for a greeting: what may take long comes after it

Error session_error(const std::string& message, std::string hint) {
  return Error{ErrorCode::kSessionFailed, message, "--session", std::move(hint)};
}

// What becomes the server: its own session, no terminal, nothing of the starter's but its
// environment. Never returns.
[[noreturn]] void become_server(int ready_fd, std::vector<std::string>& arguments) {
  setsid();
  if (fork() != 0) _exit(0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, 0);
  dup2(ready_fd, 1);
  dup2(null, 2);
  sys::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  // The starter may have been told to ignore or block what must end a server.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  if (chdir("/") != 0) _exit(125);
  execv("/proc/self/exe", pointers(arguments).data());
  _exit(125);
}

// The one line that `serve` prints. Empty: it ended without a word, or took too long.
std::string read_ready_line(int fd) {
  std::string text;
  char chunk[4096];
  struct pollfd ready {
    fd, POLLIN, 0
  };
  while (text.find('\n') == std::string::npos && text.size() < (1U << 20)) {
    if (poll(&ready, 1, kStartMilliseconds) <= 0) break;
    const ssize_t size = read(fd, chunk, sizeof chunk);
    if (size <= 0) break;
    text.append(chunk, static_cast<std::size_t>(size));
  }
  return text;
}

Status start_server(const SessionClient::Wanted& wanted) {
  std::vector<std::string> arguments = {"sbx-run", "serve", "--session=" + wanted.session};
  SessionFlags flags = wanted.flags;
  if (wanted.default_workspace && !flags.contains("--workspace")) {
    SBX_TRY(std::string workspace, wanted.default_workspace());
    if (!workspace.empty()) flags["--workspace"] = {std::move(workspace)};
  }
  for (std::string& argument : flag_arguments(flags)) {
    arguments.push_back(std::move(argument));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return session_error("pipe2: " + errno_text(errno), "");
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  const pid_t child = fork();
  if (child == 0) become_server(write_end.get(), arguments);
  if (child < 0) return session_error("fork: " + errno_text(errno), "");
  write_end.reset();
  waitpid(child, nullptr, 0);
  const Result<json> said = read_json_strict(read_ready_line(read_end.get()));
  if (!said.ok() || !said.value().is_object()) {
    return session_error("the server of session '" + wanted.session + "' did not come up",
                         "sbx-run serve --session " + wanted.session + " says why");
  }
  const auto error = said.value().find("error");
  if (error == said.value().end() || !error->is_object()) return {};
  return read_error(*error, ErrorCode::kSessionFailed);
}

// The name of a variable, a proxy without its password; whole: what is no secret at all.
std::string public_part(const std::string& flag, const std::string& value) {
  if (flag == "--env") return value.substr(0, value.find('=') + 1);
  return flag == "--upstream-proxy" ? without_users(value, Urls::kOfProxy) : value;
}

// What without_secrets() has made of them.
std::string shown(const std::string& flag, const std::vector<std::string>& values) {
  std::string out = flag;
  for (const std::string& value : values) {
    const std::size_t secret = value.find(kDigestMark);
    out += " " + value.substr(0, secret) +
           (secret != std::string::npos && flag == "--env" ? "..." : "");
  }
  return out;
}

// What a running session has for a flag; nullopt: it was started without it.
std::optional<std::vector<std::string>> values_of(const json& greeting, const std::string& flag) {
  std::vector<std::string> values;
  const auto options = greeting.find("options");
  if (options != greeting.end() && options->is_object() && options->contains(flag)) {
    for (const json& value : options->at(flag)) {
      if (value.is_string()) values.push_back(value.get<std::string>());
    }
    return values;
  }
  // It has one in any case.
  if (flag != "--profile") return std::nullopt;
  values.push_back(text_at(greeting, "profile"));
  return values;
}

// A session that runs keeps what it was started with.
Status check_agreement(const json& greeting, const SessionClient::Wanted& wanted,
                       const std::string& token) {
  const auto protocol = greeting.find("protocol");
  if (protocol == greeting.end() || *protocol != kServeProtocol) {
    return session_error("session '" + wanted.session + "' is served by another version of sbx-run",
                         "end that server, or use another --session");
  }
  for (const auto& [flag, values] : without_secrets(wanted.flags, token)) {
    const std::optional<std::vector<std::string>> has = values_of(greeting, flag);
    if (has == values ||
        (flag == "--workspace" && values.front() == text_at(greeting, "workspace"))) {
      continue;
    }
    return Error{ErrorCode::kSessionFailed,
                 "session '" + wanted.session + "' runs " +
                     (has ? "with " + shown(flag, *has) : "without " + flag) + ", not with " +
                     shown(flag, values),
                 flag,
                 "leave the flag out, use another --session, or end this one: sbx-run call "
                 "shutdown --session " +
                     wanted.session};
  }
  return {};
}

}  // namespace

std::vector<std::string> flag_arguments(const SessionFlags& flags) {
  std::vector<std::string> arguments;
  for (const auto& [flag, values] : flags) {
    if (values.empty()) arguments.push_back(flag);
    for (const std::string& value : values) arguments.push_back(flag + "=" + value);
  }
  return arguments;
}

SessionFlags without_secrets(SessionFlags flags, const std::string& token) {
  for (auto& [flag, values] : flags) {
    for (std::string& value : values) {
      std::string open = public_part(flag, value);
      if (open == value) continue;
      value = std::move(open) + std::string(kDigestMark) + sha256_hex(token + sha256_hex(value));
    }
  }
  return flags;
}

std::string flags_json(const SessionFlags& flags) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  for (const auto& [flag, values] : flags) {
    json.key(flag);
    json.begin_array();
    for (const std::string& value : values) json.string(value);
    json.end_array();
  }
  json.end_object();
  return text;
}

Result<Directory> runtime_directory(const Environment& environment) {
  const auto runtime = environment.find("XDG_RUNTIME_DIR");
  return open_runtime_directory(runtime == environment.end() ? "" : runtime->second);
}

std::string socket_name(const std::string& session) { return session + ".sock"; }

std::vector<std::string> session_names(const Directory& directory) {
  std::vector<std::string> names;
  Listing listing(directory.fd.get(), ".");
  const std::string ending = socket_name("");
  while (const dirent* entry = listing.next()) {
    std::string name = entry->d_name;
    if (!name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    if (check_session_name(name).ok()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<SessionClient> SessionClient::open(const Wanted& wanted, const Environment& environment) {
  SBX_CHECK_OK(check_session_name(wanted.session));
  SBX_TRY(const Directory directory, runtime_directory(environment));
  const std::string name = socket_name(wanted.session);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<OwnedFd> fd = connect_socket(directory, name);
    if (!fd.ok()) {
      const int why = fd.error().sys_errno;
      if (why != ENOENT && why != ECONNREFUSED) return fd.error();
      if (!wanted.may_start) {
        return session_error("session '" + wanted.session + "' does not run",
                             "sbx-run start --session " + wanted.session + " -c COMMAND starts it");
      }
      SBX_CHECK_OK(start_server(wanted));
      continue;
    }
    SessionClient client(std::move(fd).value());
    const bool is_bounded = wanted.patience_ms != 0;
    client.wait_at_most(is_bounded ? wanted.patience_ms : kStartMilliseconds);
    const std::string token = read_token(directory, name);
    std::string params = "{}";
    if (wanted.as_operator || wanted.above_ceilings || !wanted.approve.empty()) {
      params.clear();
      JsonWriter json(params);
      json.begin_object();
      json.key("token");
      json.string(token);
      if (wanted.above_ceilings) {
        json.key("above_ceilings");
        json.boolean(true);
      }
      json.end_object();
    }
    const Result<std::string> greeting = client.call("hello", params);
    if (greeting.ok()) {
      SBX_TRY(const json said, read_json_strict(greeting.value()));
      SBX_CHECK_OK(check_agreement(said, wanted, token));
      client.greeting_ = greeting.value();
      if (!is_bounded) client.wait_at_most(0);
      if (!wanted.approve.empty()) SBX_CHECK_OK(client.grant(wanted.approve));
      return client;
    }
    if (greeting.error().sys_errno != ECONNRESET) return greeting.error();
    // It was leaving: nothing has been asked of it yet.
    const struct timespec pause { 0, 20'000'000 };
    nanosleep(&pause, nullptr);
  }
  return session_error("no server of session '" + wanted.session + "' stays",
                       "sbx-run serve --session " + wanted.session + " says why");
}

Status SessionClient::grant(const std::string& digest) {
  std::string params;
  JsonWriter json(params);
  json.begin_object();
  json.key("digest");
  json.string(digest);
  json.end_object();
  Result<std::string> answer = call("approve", params);
  if (answer.ok()) return {};
  if (answer.error().code == ErrorCode::kBadValue) {
    answer.error().code = ErrorCode::kBadFlag;
    answer.error().where = "--approve";
  }
  return answer.error();
}

// While nobody heeds signals it is the read that waits.
Status SessionClient::wait_for_server() {
  constexpr int kAfterSignalMs = 5000;  // the tree is killed at once
  while (signal_fd_ >= 0) {
    struct pollfd ready[2] = {{fd_.get(), POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    const int some = poll(ready, 2, signal_ == 0 ? -1 : kAfterSignalMs);
    if (some < 0) continue;
    struct signalfd_siginfo info {};
    const bool is_signal =
        ready[1].revents != 0 && ::read(signal_fd_, &info, sizeof info) == ssize_t{sizeof info};
    if (some == 0 || (is_signal && (signal_ != 0 || awaited_ == 0))) {
      if (signal_ == 0) signal_ = static_cast<int>(info.ssi_signo);
      return Error{ErrorCode::kCancelled, "a signal ended it", "", ""};
    }
    if (!is_signal) return {};
    signal_ = static_cast<int>(info.ssi_signo);
    send("cancel", R"({"id":)" + std::to_string(awaited_) + "}");
  }
  return {};
}

Result<std::string> SessionClient::read_line() {
  for (;;) {
    if (auto line = reader_.next()) return std::move(line->text);
    SBX_CHECK_OK(wait_for_server());
    errno = 0;
    const IoState state = read_some(fd_.get(), reader_);
    if (state == IoState::kBlocked && errno == EAGAIN) {
      Error error =
          session_error("the session's server does not answer",
                        "it may be stopped or much too busy: let it go on (kill -CONT), or "
                        "end it (kill)");
      error.sys_errno = EAGAIN;
      return error;
    }
    if (state != IoState::kClosed) continue;
    Error error = session_error("the session's server has gone", "");
    error.sys_errno = ECONNRESET;
    return error;
  }
}

// For each read; what is sent is little.
void SessionClient::wait_at_most(int milliseconds) const {
  const struct timeval time { milliseconds / 1000, suseconds_t{milliseconds % 1000} * 1000 };
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

Result<std::string> SessionClient::call(std::string_view method, std::string_view params,
                                        const Notify& notify) {
  const std::string id = std::to_string(++last_id_);
  awaited_ = last_id_;
  const std::string line = write_request(id, method, params) + "\n";
  const bool is_sent = write_all(fd_.get(), line);
  for (;;) {
    SBX_TRY(const std::string text, read_line());
    auto read = read_message(text);
    auto* message = std::get_if<RpcMessage>(&read);
    if (message == nullptr) return session_error("the server does not speak JSON-RPC", "");
    if (!message->method.empty()) {
      if (notify) notify(message->method, message->params);
    } else if (!message->error.empty()) {
      // A refusal of the connection itself has no id.
      SBX_TRY(const json error, read_json_strict(message->error));
      const auto data = error.find("data");
      return read_error(data == error.end() ? error : *data, ErrorCode::kSessionFailed);
    } else if (message->id == id) {
      return std::move(message->result);
    }
    if (!is_sent) return session_error("the session's server has gone", "");
  }
}

bool SessionClient::send(std::string_view method, std::string_view params) {
  return write_all(fd_.get(), write_request(std::to_string(++last_id_), method, params) + "\n");
}

Status SessionClient::read(const Notify& take) {
  const IoState state = read_some(fd_.get(), reader_);
  take_whole(take);
  if (state != IoState::kClosed) return {};
  return session_error("the session's server has gone", "");
}

void SessionClient::take_whole(const Notify& take) {
  while (auto line = reader_.next()) {
    auto message = read_message(line->text);
    if (const auto* whole = std::get_if<RpcMessage>(&message)) {
      take(whole->method, whole->method.empty() ? whole->result : whole->params);
    }
  }
}

Status SessionClient::read(const Notify& take, const Answered& answered) {
  const IoState state = read_some(fd_.get(), reader_);
  while (auto line = reader_.next()) {
    auto message = read_message(line->text);
    const auto* whole = std::get_if<RpcMessage>(&message);
    if (whole == nullptr) continue;
    if (!whole->method.empty()) {
      take(whole->method, whole->params);
    } else if (const auto id = parse_count(whole->id, UINT_MAX)) {
      const bool is_error = !whole->error.empty();
      answered(static_cast<unsigned>(*id), is_error ? whole->error : whole->result, is_error);
    }
  }
  if (state != IoState::kClosed) return {};
  return session_error("the session's server has gone", "");
}

Status SessionClient::next(const Notify& notify) {
  awaited_ = 0;
  SBX_TRY(const std::string text, read_line());
  auto read = read_message(text);
  const auto* message = std::get_if<RpcMessage>(&read);
  if (message != nullptr && !message->method.empty()) notify(message->method, message->params);
  return {};
}

}  // namespace sbx
