// SPDX-License-Identifier: Apache-2.0
// mcp: an MCP server on stdin and stdout. Ends with its stdin: what is under way has a second to
// be answered, then everything is killed.
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "flags.h"
#include "loop.h"
#include "rpc/framing.h"
#include "rpc/mcp.h"
#include "tool_policy.h"
#include "verbs.h"

namespace sbx {
namespace {

// Clients give two seconds between the end of our stdin and SIGTERM.
constexpr std::chrono::milliseconds kAnswerFor{1000};
constexpr std::chrono::milliseconds kEndFor{600};
constexpr std::size_t kHoldBytes = std::size_t{8} << 20;  // that wait to be written: read no more

// O_NONBLOCK belongs to what the descriptor refers to, which the caller may share.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) {
    if (flags_ >= 0) fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~NonBlocking() {
    if (flags_ >= 0) fcntl(fd_, F_SETFL, flags_);
  }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  int fd_;
  int flags_;
};

Result<std::vector<std::string>> offered_tools(const std::vector<std::string>& wanted) {
  const auto known = tool_names();
  if (wanted.empty()) return std::vector<std::string>(known.begin(), known.end());
  std::vector<std::string> out;
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto nearest = nearest_name(name, known);
      return Error{ErrorCode::kBadFlag, "there is no tool '" + name + "'", "--tool",
                   nearest ? "did you mean " + std::string(*nearest) + "?"
                           : "sbx-run mcp --help lists them"};
    }
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

class StdioServer {
 public:
  StdioServer(Service& service, ToolRunner& runner, McpOptions options)
      : service_(service), mcp_(service, runner, std::move(options), [this](std::string line) {
          queue_.push(std::move(line));
        }) {}

  // The exit status: 0 at the end of stdin.
  int run(int signal_fd) {
    const NonBlocking in(STDIN_FILENO);
    const NonBlocking out(STDOUT_FILENO);
    while (!is_over()) {
      PollTurn loop;
      if (!at_end_ && queue_.bytes() < kHoldBytes) loop.read(STDIN_FILENO);
      if (!queue_.empty()) loop.write(STDOUT_FILENO);
      loop.read(service_.poll_fd());
      loop.read(signal_fd);
      loop.until(service_.deadline());
      loop.until(mcp_.deadline());
      if (at_end_) loop.until(ends_at_);
      loop.wait();
      if (loop.is_ready(signal_fd)) {
        if (const int signal = read_signal(signal_fd); signal != 0) return 128 + signal;
      }
      if (loop.is_ready(STDIN_FILENO)) take();
      service_.step();
      mcp_.tick();
      if (!queue_.empty() && queue_.flush(STDOUT_FILENO) == IoState::kClosed) {
        return stdout_unwritable();
      }
    }
    return 0;
  }

 private:
  void take() {
    const IoState state = read_some(STDIN_FILENO, reader_);
    while (auto line = reader_.next()) handle(*line);
    if (state != IoState::kClosed) return;
    if (auto line = reader_.rest()) handle(*line);
    at_end_ = true;
    ends_at_ = PollTurn::Clock::now() + kAnswerFor;
  }

  void handle(const Line& line) {
    if (line.too_long) return mcp_.refuse_long_line();
    mcp_.receive(line.text);
  }

  // At the end of stdin: calls are answered for a while, then everything is asked to end.
  bool is_over() {
    if (service_.wants_shutdown()) return true;
    if (!at_end_) return false;
    const auto now = PollTurn::Clock::now();
    if (!is_ending_) {
      if (mcp_.has_calls() && now < ends_at_) return false;
      service_.end_all();
      is_ending_ = true;
      ends_at_ = now + kEndFor;
    }
    return now >= ends_at_ || (service_.is_idle() && queue_.empty());
  }

  Service& service_;
  LineReader reader_;
  LineQueue queue_;
  McpServer mcp_;
  bool at_end_ = false;
  bool is_ending_ = false;
  PollTurn::Clock::time_point ends_at_;
};

Result<int> serve(const RunOptions& options, const Invocation& invocation) {
  McpOptions mcp;
  SBX_TRY(mcp.tools, offered_tools(options.tools));
  mcp.version = SBX_VERSION;
  if (getrandom(mcp.key.data(), mcp.key.size(), 0) != static_cast<ssize_t>(mcp.key.size())) {
    return Error{ErrorCode::kSetupFailed, "getrandom: " + errno_text(errno), "", ""};
  }
  SBX_TRY(const OwnedFd signals, signal_descriptor(false));
  SBX_TRY(const OwnedFd owner, owner_descriptor(options.owner_pid));
  SBX_TRY(SessionOptions session, prepare_tool(options, invocation, mcp.tools.front()));
  session.owner_pidfd = owner.get();
  Service service(std::move(session));
  ToolRunner runner(service, tool_policies(options, invocation));
  StdioServer server(service, runner, std::move(mcp));
  return server.run(signals.get());
}

}  // namespace

int verb_mcp(const Invocation& invocation) {
  RunOptions options;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  // Nothing but the protocol goes to stdout.
  const auto refuse = [](const Error& error) {
    complain(error);
    return 125;
  };
  if (!parsed.ok()) return refuse(parsed.error());
  Result<int> status = serve(options, invocation);
  return status.ok() ? status.value() : refuse(status.error());
}

}  // namespace sbx
