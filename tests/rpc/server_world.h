// SPDX-License-Identifier: Apache-2.0
// A server in a thread of the test, over a real session and a table of methods of the test's own;
// its clients block.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "json/codec.h"
#include "json/writer.h"
#include "rpc/server.h"
#include "support/default_session.h"

namespace sbx {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline std::atomic<int> calls{0};  // since the test began

// `echo` answers its task_id, `big` as many bytes as `since` says, `work` after 5 ms, `hold` never,
// `idle` whether nothing runs, `approve` as an operator's row; the others are those of the program.
inline constexpr std::array kEchoFields = {field<&MethodParams::task_id>(
    "task_id", "To be echoed.", {.kind = Kind::kText, .nullable = true})};
inline constexpr std::array kBigFields = {
    field<&MethodParams::since>("since", "Bytes.", {.kind = Kind::kCount, .max = 1 << 30})};

inline Status answer(MethodCall& call, const json& value) {
  ++calls;
  call.reply(WriteValue([&](JsonWriter& writer) { writer.verbatim(value.dump()); }));
  return {};
}
inline Status echo(MethodCall& call) { return answer(call, call.params.task_id); }
inline Status big(MethodCall& call) {
  return answer(call, std::string(static_cast<std::size_t>(*call.params.since), 'x'));
}
inline Status work(MethodCall& call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return answer(call, nullptr);
}
inline Status hold(MethodCall&) {
  ++calls;
  return {};
}
inline Status idle(MethodCall& call) { return answer(call, call.service.is_idle()); }
inline Status approve(MethodCall& call) { return answer(call, true); }

inline std::vector<Method> test_methods() {
  std::vector<Method> rows = {
      {.name = "echo", .fields = {kEchoFields}, .call = echo},
      {.name = "big", .fields = {kBigFields}, .call = big},
      {.name = "work", .fields = {}, .call = work},
      {.name = "hold", .fields = {}, .call = hold},
      {.name = "idle", .fields = {}, .call = idle},
      {.name = "approve", .fields = {}, .for_operator = true, .call = approve},
  };
  for (const Method& method : methods()) {
    if (method.name != "approve") rows.push_back(method);
  }
  return rows;
}

// A client that blocks, at most 20 seconds.
class Peer {
 public:
  explicit Peer(OwnedFd fd) : fd_(std::move(fd)) {
    const struct timeval bound { 20, 0 };
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  }
  bool say(const std::string& text) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t size = send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (size <= 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }
  bool ask(const std::string& id, const std::string& method, const std::string& params = "{}") {
    return say(write_request(id, method, params) + "\n");
  }
  // The next message that is an answer or an error; null at the end.
  json hear_answer() {
    for (;;) {
      json message = hear();
      if (!message.is_object() || message.contains("id")) return message;
    }
  }
  // Starts a task, and has its id.
  std::string start(const std::string& command) {
    ask("\"start\"", "start", json{{"command", command}}.dump());
    return hear_answer()["result"]["task_id"];
  }
  // The next message; null at the end.
  json hear() {
    for (;;) {
      if (auto line = reader_.next()) return json::parse(line->text);
      if (read_some(fd_.get(), reader_) != IoState::kOpen) return nullptr;
    }
  }
  void half_close() { shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

 private:
  OwnedFd fd_;
  LineReader reader_{std::size_t{256} << 20};
};

// A task that ends by SIGKILL alone.
inline constexpr const char* kStubborn = "trap '' TERM; echo ready; while :; do sleep 0.02; done";

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    calls = 0;
    directory_ = testing::TempDir() + "/sbx-server-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    options_.greeting = {R"("version":"x")", "secret"};
  }
  void TearDown() override {
    if (thread_.joinable()) {
      stop_.reset();
      thread_.join();
    }
    std::filesystem::remove_all(directory_);
  }

  void listen_on_socket() {
    options_.listener.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = name();
    ASSERT_EQ(
        bind(options_.listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
        0);
    ASSERT_EQ(listen(options_.listener.get(), 64), 0);
  }
  // The server's end of a pair, as `--fd` gives it; the test's end comes back.
  OwnedFd pair(bool server_may_block = false) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    if (!server_may_block) fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream_.in.reset(ends[0]);
    return OwnedFd(ends[1]);
  }
  // stop_'s end of file ends the server where nothing else does, as the owner's end.
  void serve() {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    stop_.reset(ends[1]);
    owner_.reset(ends[0]);
    options_.owner_pidfd = ends[0];
    thread_ = std::thread([this] {
      Service service(std::move(session_.options));
      const std::vector<Method> rows = test_methods();
      Dispatcher dispatcher(service, nullptr, rows);
      Server server(dispatcher, std::move(options_));
      if (stream_.in.is_open()) server.add_stream(std::move(stream_), true);
      const Status status = server.run();
      EXPECT_TRUE(status.ok());
      was_idle_ = service.is_idle();
      is_done_ = true;
    });
  }
  void wait_for_end() { thread_.join(); }
  Peer connect() const {
    OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = name();
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return Peer(std::move(fd));
  }
  sockaddr_un name() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_ + "/s";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }

  std::string directory_;
  DefaultSession session_;
  ServerOptions options_;
  Connection::Ends stream_;
  OwnedFd stop_;
  OwnedFd owner_;
  std::thread thread_;
  std::atomic<bool> is_done_{false};
  bool was_idle_ = false;  // at the end
};

}  // namespace sbx
