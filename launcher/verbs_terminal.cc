// SPDX-License-Identifier: Apache-2.0
// attach, screen, resize: tasks that have a terminal.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "json/text_at.h"
#include "output/terminal_text.h"
#include "run/caller_terminal.h"
#include "screen/frames.h"
#include "session_verbs.h"
#include "task_text.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr const char* kDetachKey = "ctrl-]";
constexpr std::size_t kMostWaiting = std::size_t{64} << 10;

// "ctrl-]", "^]", "C-]", or a character.
Result<char> key_of(const std::string& flag) {
  const std::string name = flag.empty() ? kDetachKey : flag;
  if (name.size() == 1) return name[0];
  for (const std::string_view prefix : {"ctrl-", "Ctrl-", "C-", "^"}) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 1) continue;
    const char key = static_cast<char>(std::toupper(static_cast<unsigned char>(name.back())));
    if (key >= '@' && key <= '_') return static_cast<char>(key & 0x1f);
  }
  return Error{ErrorCode::kBadFlag, "bad value for --detach-key: '" + name + "'", "--detach-key",
               "such as ctrl-] or ctrl-a"};
}

// The beginning of a character that is still to come.
std::size_t cut_off(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0U) == 0x80) continue;
    const std::size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return wanted > back ? back : 0;
  }
  return 0;
}

// It knows no escapes.
bool is_dumb(const Environment& environment) {
  const auto type = environment.find("TERM");
  return type != environment.end() && type->second == "dumb";
}

class Attachment {
 public:
  Attachment(SessionClient client, std::string task_id, char key, int signal_fd,
             const Environment& environment)
      : client_(std::move(client)),
        task_id_(std::move(task_id)),
        key_(key),
        signals_(signal_fd),
        filter_(is_dumb(environment) ? TerminalText::Kind::kText : TerminalText::Kind::kScreen) {}

  // The exit status. Errors: what ended it otherwise.
  Result<int> run() {
    const auto notify = [this](const std::string& method, const std::string& text) {
      take(method, text);
    };
    SBX_TRY(const std::string answer, client_.call("attach", params().dump(), notify));
    terminal_.emplace();
    take("", answer);
    client_.take_whole(notify);
    while (!exit_) SBX_CHECK_OK(turn(notify));
    while (!out_.empty() && wait_for_terminal()) write_some(terminal_->out(), out_);
    terminal_->restore(out_.empty());
    return *exit_;
  }

 private:
  json params() const {
    json params = {{"task_id", task_id_}};
    struct winsize size {};
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 && size.ws_col != 0) {
      params["cols"] = std::min<int>(size.ws_col, TerminalSize::kMostColumns);
      params["rows"] = std::min<int>(size.ws_row, TerminalSize::kMostRows);
    }
    return params;
  }

  bool wait_for_terminal() const {
    constexpr int kLongestMs = 1000;
    struct pollfd ready {
      terminal_->out(), POLLOUT, 0
    };
    return poll(&ready, 1, kLongestMs) == 1 && (ready.revents & POLLOUT) != 0;
  }

  void take(const std::string& method, const std::string& text) {
    const json message = parsed(text);
    if (!message.is_object() || text_at(message, "task_id") != task_id_) return;
    if (method.empty() && message.contains("repaint")) {
      (void)filter_.finish();
      show(text_at(message, "repaint"));
      if (!message.value("is_running", false)) exit_ = status_of(message);
    } else if (method == "task.output") {
      show(text_at(message, "text"));
      // What was lost may have been half of an escape.
      if (message.value("dropped", 0) > 0) client_.send("attach", params().dump());
    } else if (method == "task.exit") {
      exit_ = status_of(message);
    }
  }

  void show(const std::string& text) {
    const std::string shown = filter_.append(text);
    if (terminal_) terminal_->note(shown);
    out_ += shown;
  }

  Status turn(const SessionClient::Notify& notify) {
    struct pollfd ready[4] = {{has_input_ ? STDIN_FILENO : -1, POLLIN, 0},
                              {out_.size() < kMostWaiting ? client_.fd() : -1, POLLIN, 0},
                              {signals_, POLLIN, 0},
                              {out_.empty() ? -1 : terminal_->out(), POLLOUT, 0}};
    if (poll(ready, 4, -1) < 0) return {};
    if (ready[2].revents != 0) take_signal();
    if (ready[0].revents != 0) take_keys();
    if (ready[3].revents != 0 && !write_some(terminal_->out(), out_)) exit_ = 128 + SIGHUP;
    return ready[1].revents != 0 ? client_.read(notify) : Status();
  }

  void take_signal() {
    struct signalfd_siginfo info {};
    if (read(signals_, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo != SIGWINCH) {
      exit_ = 128 + static_cast<int>(info.ssi_signo);
    } else if (const json size = params(); size.contains("cols")) {
      client_.send("resize", size.dump());
    }
  }

  void take_keys() {
    if (!read_some(STDIN_FILENO, typed_)) has_input_ = false;
    const std::size_t key = typed_.find(key_);
    if (key != std::string::npos) {
      typed_.resize(key);
      exit_ = 0;
    }
    const std::string rest = typed_.substr(typed_.size() - cut_off(typed_));
    typed_.resize(typed_.size() - rest.size());
    if (!typed_.empty()) {
      const json text = {{"task_id", task_id_}, {"text", typed_}};
      client_.send("stdin", text.dump(-1, ' ', false, json::error_handler_t::replace));
    }
    typed_ = rest;
    if (!has_input_ && isatty(STDIN_FILENO) != 0) exit_ = 128 + SIGHUP;
  }

  SessionClient client_;
  std::string task_id_;
  char key_;
  int signals_;
  TerminalText filter_;
  std::optional<CallerTerminal> terminal_;
  std::string out_;
  std::string typed_;
  bool has_input_ = true;
  std::optional<int> exit_;
};

Result<int> attach(const RunOptions& options, const Invocation& invocation) {
  SBX_TRY(const char key, key_of(options.detach_key));
  SBX_TRY(const OwnedFd signals, signal_descriptor(true));
  SBX_TRY(SessionClient client, SessionClient::open({options.session}, invocation.environment));
  return Attachment(std::move(client), options.task_id, key, signals.get(), invocation.environment)
      .run();
}

Result<int> shell_here(const RunOptions& options, const Invocation& invocation) {
  SBX_TRY(const char key, key_of(options.detach_key));
  SBX_TRY(const OwnedFd signals, signal_descriptor(true));
  SBX_TRY(SessionClient client, open_session(options, invocation));
  SBX_TRY(const std::string started, client.call("shell", "{}"));
  return Attachment(std::move(client), text_at(parsed(started), "task_id"), key, signals.get(),
                    invocation.environment)
      .run();
}

Result<std::string> shell_call(const RunOptions& options, const Invocation& invocation,
                               int& signal) {
  SBX_TRY(const json params, shell_params(options));
  SBX_TRY(SessionClient client, open_session(options, invocation));
  SBX_TRY(const OwnedFd signals, signal_descriptor(false));
  client.heed_signals(signals.get());
  Result<std::string> answer =
      client.call("run", params.dump(-1, ' ', false, json::error_handler_t::replace));
  signal = client.signal();
  return answer;
}

}  // namespace

int verb_shell(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  if (options.command.empty() && isatty(STDIN_FILENO) != 0) {
    const Result<int> status = shell_here(options, invocation);
    return status.ok() ? status.value() : refuse(status.error(), invocation);
  }
  int signal = 0;
  const Result<std::string> answer = shell_call(options, invocation, signal);
  if (!answer.ok()) return refuse(answer.error(), invocation);
  const int status = finish(invocation, "run", answer.value());
  return signal == 0 ? status : 128 + signal;
}

int verb_attach(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  const Result<int> status = attach(options, invocation);
  return status.ok() ? status.value() : refuse(status.error(), invocation);
}

int verb_screen(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  const Result<std::string> answer =
      ask(options.session, invocation, "screen", json{{"task_id", options.task_id}});
  if (!answer.ok()) return refuse(answer.error(), invocation);
  if (options.json) return print(answer.value()) ? 0 : 125;
  return say(task_text("screen", parsed(answer.value())).out);
}

int verb_resize(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  const auto resize = [&]() -> Result<std::string> {
    json params = {{"task_id", options.task_id}};
    SBX_CHECK_OK(add_size(options, params));
    for (const auto& [flag, key] : {std::pair("--cols", "cols"), {"--rows", "rows"}}) {
      if (params.contains(key)) continue;
      return Error{ErrorCode::kBadFlag, std::string(flag) + " is missing", flag,
                   "sbx-run resize TASK_ID --cols N --rows N"};
    }
    return ask(options.session, invocation, "resize", params);
  };
  const Result<std::string> answer = resize();
  if (!answer.ok()) return refuse(answer.error(), invocation);
  return tell(invocation, "resize", answer.value()) ? 0 : 125;
}

}  // namespace sbx
