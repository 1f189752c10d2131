// SPDX-License-Identifier: Apache-2.0
// sbx-top on a pseudo-terminal, followed by libvterm, beside a server of a session that is made up:
// what is seen, whatever the size and whatever the server says.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "rpc/framing.h"
#include "rpc/json_rpc.h"
#include "rpc/socket_place.h"
#include "screen/screen.h"
#include "serve_protocol.h"

namespace sbx {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

// Serves one connection at a time; each method's answer is made by the test.
class MadeUpSession {
 public:
  explicit MadeUpSession(const std::string& runtime)
      : place_(open_runtime_directory(runtime).value(), "made.sock") {
    bool is_taken = false;
    EXPECT_TRUE(place_.listen(listener_, is_taken).ok());
    EXPECT_TRUE(place_.write_token("t").ok());
    tasks.push_back(task("1", "echo one"));
    thread_ = std::thread([this] { serve(); });
  }
  ~MadeUpSession() {
    is_over_ = true;
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  static json task(const std::string& id, const std::string& command) {
    return {{"task_id", id + "0000000-0000-0000-0000-000000000000"},
            {"pid", 1},
            {"is_running", true},
            {"status", "running"},
            {"uptime_seconds", 61},
            {"command", command},
            {"cwd", "/w"},
            {"has_terminal", false},
            {"denials", 3},
            {"connections", 0}};
  }

  json tasks = json::array();  // before anybody has connected
  json approvals = json::array();
  std::string output = "first\nsecond\n";
  std::atomic<int> approved = 0;
  std::atomic<int> declined = 0;

 private:
  json answer(const std::string& method, const json& params) {
    if (method == "hello")
      return {{"protocol", kServeProtocol}, {"pid", getpid()}, {"operator", true}};
    if (method == "list") return {{"tasks", tasks}};
    if (method == "approvals") return {{"approvals", approvals}};
    if (method == "approve") ++approved;
    if (method == "decline") ++declined;
    if (method != "output") return json::object();
    const bool is_first = params.value("since", 0) == 0;
    return {{"stdout", is_first ? output : ""}, {"stderr", ""}, {"next", output.size()}};
  }

  void serve() {
    while (!is_over_) {
      const OwnedFd peer(accept(listener_.get(), nullptr, nullptr));
      LineReader reader;
      while (peer.is_open() && !is_over_) {
        struct pollfd ready {
          peer.get(), POLLIN, 0
        };
        if (poll(&ready, 1, 100) <= 0) continue;
        if (read_some(peer.get(), reader) == IoState::kClosed) break;
        while (const auto line = reader.next()) {
          const json request = json::parse(line->text);
          const json said = {{"jsonrpc", "2.0"},
                             {"id", request["id"]},
                             {"result", answer(request["method"], request["params"])}};
          const std::string text = said.dump() + "\n";
          if (send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) break;
        }
      }
    }
  }

  SocketPlace place_;
  OwnedFd listener_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

class TopOnATerminal : public testing::Test {
 protected:
  void SetUp() override {
#ifdef SBX_SANITIZED
    GTEST_SKIP() << "sbx-screen's filter has no room for a sanitizer, and ncurses keeps its memory";
#endif
    std::string name = (std::filesystem::temp_directory_path() / "sbx-top-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    runtime_ = name;
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      close(master_);
    }
    std::filesystem::remove_all(runtime_);
  }

  void start(int columns, int rows, const char* terminal = "xterm-256color") {
    struct winsize size {};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    pid_ = forkpty(&master_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
      setenv("TERM", terminal, 1);
      setenv("LC_ALL", "C.UTF-8", 1);
      execl(SBX_TOP, "sbx-top", nullptr);
      _exit(99);
    }
    screen_.emplace(TerminalSize{columns, rows});
  }

  // Reads what comes; false at the end.
  bool pump(int milliseconds) {
    struct pollfd ready {
      master_, POLLIN, 0
    };
    if (poll(&ready, 1, milliseconds) <= 0) return true;
    char bytes[65536];
    const ssize_t size = read(master_, bytes, sizeof bytes);
    if (size <= 0) return false;
    written_.append(bytes, static_cast<std::size_t>(size));
    screen_->write({bytes, static_cast<std::size_t>(size)});
    return true;
  }
  bool shows(const std::string& text, const std::function<bool()>& also = {}) {
    const auto until = steady_clock::now() + std::chrono::seconds(20);
    while (steady_clock::now() < until) {
      const bool is_there = screen_->text().find(text) != std::string::npos;
      if (is_there && (!also || also())) return true;
      if (!pump(50)) return false;
    }
    ADD_FAILURE() << "'" << text << "' is not in\n" << screen_->text();
    return false;
  }
  void type(const std::string& keys) { ASSERT_GT(write(master_, keys.data(), keys.size()), 0); }
  void resize(int columns, int rows) {
    struct winsize size {};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    ioctl(master_, TIOCSWINSZ, &size);
    screen_->resize({columns, rows});
  }
  int wait_for_end() {
    while (pump(1000)) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    close(master_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string runtime_;
  pid_t pid_ = -1;
  int master_ = -1;
  std::string written_;
  std::optional<Screen> screen_;
};

constexpr const char* kDown = "\x1b[B";
constexpr const char* kPageDown = "\x1b[6~";

TEST_F(TopOnATerminal, ShowsTasksTheirOutputAndTheKeysAndQuits) {
  MadeUpSession session(runtime_);
  start(100, 30);
  EXPECT_TRUE(shows("made       10000000 running   1:01"));
  EXPECT_TRUE(shows("echo one"));
  EXPECT_TRUE(shows("second"));
  EXPECT_TRUE(shows("q quits  Enter opens  a approves  r refuses  k kills  f follows  ? helps"));
  type("q");
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(TopOnATerminal, NothingThatAServerOrACommandSaysLeavesItsPlace) {
  MadeUpSession session(runtime_);
  session.tasks.push_back(MadeUpSession::task("2",
                                              "evil\x1b[2J\x1b[1;1HGOTCHA\r\n\xc2\x9b"
                                              "2J"));
  session.output = "\x1b[1;1HGOTCHA\x1b]0;title\x07\x1b[?1049l\x1b[5;5Hend\xe2\x80\xae\n";
  start(100, 30);
  ASSERT_TRUE(shows("evil[2J[1;1HGOTCHA"));
  ASSERT_TRUE(shows("end"));
  const std::string text = screen_->text();
  EXPECT_EQ(text.find("sbx-run top: 1 session, 2 running"), 0U) << text;
  EXPECT_EQ(text.find("GOTCHA"), text.find("evil") + 12) << text;
}

TEST_F(TopOnATerminal, AnApprovalNeedsAllOfItToBeInView) {
  MadeUpSession session(runtime_);
  json policy = json::object();
  for (int i = 0; i < 60; ++i) policy["key" + std::to_string(100 + i)] = i;
  session.approvals.push_back({{"kind", "command"},
                               {"digest", "feed"},
                               {"asked_at", "now"},
                               {"command", "rm -rf /opt/x"},
                               {"rules", json::array()},
                               {"covers", {{"policy", policy}}}});
  start(80, 24);
  ASSERT_TRUE(shows("approve?"));
  type("a");
  EXPECT_TRUE(shows("Enter shows it first"));
  type("\r");
  ASSERT_TRUE(shows("PageDown shows more"));
  type("a");
  EXPECT_TRUE(shows("not yet"));
  EXPECT_EQ(session.approved, 0);
  // The end alone is not all.
  type("\x1b[F");
  ASSERT_TRUE(shows("key159"));
  type("a");
  EXPECT_TRUE(shows("not yet"));
  EXPECT_EQ(session.approved, 0);
  type("\x1b[H");
  ASSERT_TRUE(shows("key100"));
  // However fast they are typed.
  for (int i = 0; i < 5; ++i) type(kPageDown);
  ASSERT_TRUE(shows("all has been in view"));
  type("a");
  EXPECT_TRUE(shows("approved", [&] { return session.approved == 1; }));
  EXPECT_EQ(session.declined, 0);
}

TEST_F(TopOnATerminal, RefusingNeedsNoLook) {
  MadeUpSession session(runtime_);
  session.approvals.push_back(
      {{"kind", "http"}, {"digest", "feed"}, {"method", "POST"}, {"url", "https://example.org/x"}});
  start(80, 24);
  ASSERT_TRUE(shows("POST https://example.org/x"));
  type("r");
  EXPECT_TRUE(shows("refused", [&] { return session.declined == 1; }));
  EXPECT_EQ(session.approved, 0);
}

TEST_F(TopOnATerminal, AThousandTasksAreSmoothAndDrawnTenTimesASecondAtMost) {
  MadeUpSession session(runtime_);
  for (int i = 0; i < 999; ++i) {
    json task = MadeUpSession::task("3", "number " + std::to_string(i));
    task["task_id"] = "3" + std::to_string(100'000 + i);
    session.tasks.push_back(task);
  }
  start(100, 40);
  ASSERT_TRUE(shows("1000 running"));
  written_.clear();
  const auto began = steady_clock::now();
  for (int i = 0; i < 100; ++i) type(kDown);
  ASSERT_TRUE(shows("number 99"));
  type("\x1b[F");
  ASSERT_TRUE(shows("number 998"));
  const auto seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  int draws = 0;
  const std::string begin = "\x1b[?2026h";
  for (std::size_t at = written_.find(begin); at != std::string::npos; ++draws) {
    at = written_.find(begin, at + 1);
  }
  EXPECT_GE(draws, 1);
  EXPECT_LE(draws, 10 * seconds + 2);
  type("q");
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(TopOnATerminal, AnySizeWillDo) {
  MadeUpSession session(runtime_);
  start(80, 24);
  ASSERT_TRUE(shows("echo one"));
  for (const auto& [columns, rows] :
       {std::pair{20, 5}, {1, 1}, {2, 3}, {10, 2}, {1000, 3}, {40, 10}, {300, 100}}) {
    resize(columns, rows);
    for (const char* const key : {"\r", "?", "x", "f", "\x1b"}) {
      type(key);
      ASSERT_TRUE(pump(150)) << columns << "x" << rows;
      ASSERT_TRUE(pump(50));
    }
  }
  EXPECT_TRUE(shows("echo one"));
  type("q");
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(TopOnATerminal, WideAndForeignLettersAreWhole) {
  MadeUpSession session(runtime_);
  session.tasks.push_back(
      MadeUpSession::task("2", "echo \xe6\xbc\xa2\xe5\xad\x97 \xc3\xa4\xc3\xb6"));
  start(80, 24);
  EXPECT_TRUE(shows("echo \xe6\xbc\xa2\xe5\xad\x97 \xc3\xa4\xc3\xb6"));
}

TEST_F(TopOnATerminal, ASignalLeavesTheTerminalAsItWas) {
  MadeUpSession session(runtime_);
  start(80, 24);
  ASSERT_TRUE(shows("echo one"));
  kill(pid_, SIGTERM);
  EXPECT_EQ(wait_for_end(), 128 + SIGTERM);
  EXPECT_EQ(screen_->text().find("echo one"), std::string::npos);  // the other screen has gone
}

TEST_F(TopOnATerminal, OneThatCannotBeDrawnOnIsAnError) {
  for (const char* const terminal : {"dumb", "no-such-terminal", ""}) {
    start(80, 24, terminal);
    EXPECT_EQ(wait_for_end(), 125) << terminal;
    EXPECT_NE(screen_->text().find("cannot be drawn on"), std::string::npos) << screen_->text();
  }
}

}  // namespace
}  // namespace sbx
