// SPDX-License-Identifier: Apache-2.0
// The server's loop: many clients, slow and dead ones, bounds, and every way to end.
#include "server_world.h"

namespace sbx {
namespace {

TEST_F(ServerTest, AnswersEveryCallWithItsOwnId) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  for (const std::string id : {"1", "123456789012345678901234567890", "\"\\u0041\"", "null"}) {
    peer.ask(id, "echo", R"({"task_id":"a"})");
  }
  EXPECT_EQ(peer.hear(), (json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", "a"}}));
  EXPECT_TRUE(peer.hear()["id"].is_number());
  EXPECT_EQ(peer.hear()["id"], "A");
  EXPECT_TRUE(peer.hear()["id"].is_null());
}

TEST_F(ServerTest, SaysWhatIsWrongAndGoesOn) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.say("{nonsense\n[]\n\xff\n" + write_request("1", "nothing", "{}") + "\n");
  EXPECT_EQ(peer.hear()["error"]["code"], kRpcParseError);
  EXPECT_EQ(peer.hear()["error"]["code"], kRpcInvalidRequest);
  EXPECT_EQ(peer.hear()["error"]["code"], kRpcParseError);
  EXPECT_EQ(peer.hear()["error"]["code"], kRpcUnknownMethod);
  peer.ask("2", "echo");
  EXPECT_EQ(peer.hear()["id"], 2);
}

// A line over 16 MiB.
TEST_F(ServerTest, AnswersALineOver16MiBBeforeItEndsAndDiscardsTheRest) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  const std::string mebibyte(1 << 20, 'x');
  for (int i = 0; i < 17; ++i) ASSERT_TRUE(peer.say(mebibyte));
  const json answer = peer.hear();
  EXPECT_TRUE(answer["id"].is_null());
  EXPECT_EQ(answer["error"]["data"]["code"], "too_large");
  for (int i = 0; i < 17; ++i) ASSERT_TRUE(peer.say(mebibyte));
  peer.say("\n");
  peer.ask("2", "echo");
  EXPECT_EQ(peer.hear()["id"], 2);
}

TEST_F(ServerTest, ACallWithoutAnIdIsDoneAndNotAnswered) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.say(write_notification("echo", "{}") + "\n" + write_notification("nothing", "{}") + "\n");
  peer.ask("1", "echo");
  EXPECT_EQ(peer.hear()["id"], 1);
}

TEST_F(ServerTest, AnIdInUseIsRefused) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.ask("1", "hold");
  peer.ask("1", "echo");
  EXPECT_EQ(peer.hear()["error"]["data"]["where"], "/id");
}

TEST_F(ServerTest, OnlyTheTokenMakesAnOperator) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.ask("1", "approve");
  EXPECT_EQ(peer.hear()["error"]["data"]["code"], "not_granted");
  peer.ask("2", "hello", R"({"token":"Secret"})");
  EXPECT_EQ(peer.hear()["error"]["data"]["where"], "/token");
  peer.ask("3", "hello", R"({"token":"secret"})");
  EXPECT_EQ(peer.hear()["result"], (json{{"version", "x"}, {"operator", true}}));
  peer.ask("4", "approve");
  EXPECT_EQ(peer.hear()["result"], true);
  Peer other = connect();
  other.ask("1", "approve");
  EXPECT_EQ(other.hear()["error"]["data"]["code"], "not_granted");
}

TEST_F(ServerTest, AGuesserOfTokensGetsThreeAttempts) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  for (const std::string token : {"\"a\"", "\"b\"", "7", "\"secret\""}) {
    peer.ask("1", "hello", R"({"token":)" + token + "}");
    EXPECT_TRUE(peer.hear().contains("error")) << token;
  }
}

TEST_F(ServerTest, AClientThatDoesNotReadIsReadNoMoreAndHurtsNobody) {
  options_.limits.connection.hold_bytes = 64 << 10;
  listen_on_socket();
  serve();
  Peer slow = connect();
  Peer other = connect();
  constexpr int kCalls = 150;
  std::thread sender([&] {
    for (int i = 0; i < kCalls; ++i) slow.ask(std::to_string(i), "big", R"({"since":32768})");
  });
  for (int i = 0; i < 100; ++i) {
    other.ask(std::to_string(i), "echo");
    ASSERT_EQ(other.hear()["id"], i);
  }
  for (int i = 0; i < kCalls; ++i) ASSERT_EQ(slow.hear()["id"], i);
  sender.join();
}

TEST_F(ServerTest, WhatWaitsForASlowClientStaysWithinTheBound) {
  options_.limits.connection.hold_bytes = 64 << 10;
  listen_on_socket();
  serve();
  Peer slow = connect();
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    requests += write_request(std::to_string(i), "big", R"({"since":32768})") + "\n";
  }
  ASSERT_TRUE(slow.say(requests));
  Peer other = connect();
  other.ask("1", "echo");
  other.hear();
  std::this_thread::sleep_for(milliseconds(50));
  stop_.reset();
  thread_.join();
  EXPECT_LT(calls, 100);
}

TEST_F(ServerTest, AClientForWhichTooMuchWaitsIsDropped) {
  options_.limits.connection.drop_bytes = 1 << 20;
  listen_on_socket();
  serve();
  Peer slow = connect();
  slow.ask("1", "big", R"({"since":4000000})");
  EXPECT_EQ(slow.hear(), nullptr);
  Peer other = connect();
  other.ask("1", "echo");
  EXPECT_EQ(other.hear()["id"], 1);
}

TEST_F(ServerTest, ClientsThatDieHurtNoOther) {
  listen_on_socket();
  serve();
  Peer watcher = connect();
  const std::string task = watcher.start("read x; echo $x");
  const std::string followed = json{{"task_id", task}, {"follow", true}}.dump();
  for (int i = 0; i < 200; ++i) {
    Peer dying = connect();
    dying.ask("1", "hold");
    dying.ask("2", "output", followed);
    if (i % 20 == 0) dying.ask("3", "run", R"({"command":"sleep 1000"})");
    dying.ask("4", "big", R"({"since":300000})");
    dying.say("{\"half a");
  }
  for (int i = 0; i < 50; ++i) {
    watcher.ask(std::to_string(i), "echo");
    ASSERT_EQ(watcher.hear()["id"], i);
  }
  watcher.ask("\"s\"", "stdin", json{{"task_id", task}, {"text", "on\n"}}.dump());
  std::vector<json> heard;
  while (heard.empty() || heard.back()["method"] != "task.exit") heard.push_back(watcher.hear());
  EXPECT_EQ(heard[0]["id"], "s");
  EXPECT_EQ(heard[1]["params"]["text"], "on\n");
  bool is_idle = false;  // the runs of those that died have ended with them
  for (int i = 0; i < 2000 && !is_idle; ++i) {
    watcher.ask("\"i\"", "idle");
    is_idle = watcher.hear()["result"];
    if (!is_idle) std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(is_idle);
}

TEST_F(ServerTest, AFloodOfCallsLeavesOthersTheirTurn) {
  listen_on_socket();
  serve();
  Peer other = connect();
  other.ask("0", "echo");
  other.hear();
  Peer flood = connect();
  std::string requests;
  for (int i = 0; i < 2000; ++i) requests += write_request(std::to_string(i), "work", "{}") + "\n";
  ASSERT_TRUE(flood.say(requests));
  other.ask("1", "echo");
  EXPECT_EQ(other.hear()["id"], 1);
  stop_.reset();
  thread_.join();
  EXPECT_LT(calls, 1500);  // of ten seconds of work
}

TEST_F(ServerTest, TheFullestClientGoesWhenAllTogetherHoldTooMuch) {
  options_.limits.held_bytes = 2 << 20;
  listen_on_socket();
  serve();
  Peer other = connect();
  other.ask("0", "echo");
  other.hear();
  Peer small = connect();
  Peer large = connect();
  // Without the end of the line.
  ASSERT_TRUE(small.say("{\"a\":\"" + std::string(256 << 10, 'x')));
  (void)large.say("{\"a\":\"" + std::string(3 << 20, 'x'));  // it is dropped meanwhile
  EXPECT_EQ(large.hear(), nullptr);
  small.say("\"}\n");
  EXPECT_TRUE(small.hear().contains("error"));
  other.ask("1", "echo");
  EXPECT_EQ(other.hear()["id"], 1);
}

TEST_F(ServerTest, WhatAClientSentBeforeItLeftIsStillDone) {
  options_.limits.connection.turn = std::chrono::seconds(10);
  listen_on_socket();
  serve();
  {
    Peer leaving = connect();
    for (int i = 0; i < 20; ++i) leaving.ask("", "echo");
  }
  Peer other = connect();
  other.ask("1", "shutdown");
  EXPECT_EQ(other.hear()["id"], 1);
  wait_for_end();
  EXPECT_EQ(calls, 20);
}

TEST_F(ServerTest, AClientThatOnlyStopsTalkingGetsItsAnswers) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.ask("1", "big", R"({"since":600000})");
  peer.say(write_request("2", "echo", "{}"));  // without the end of the line
  peer.half_close();
  EXPECT_EQ(peer.hear()["id"], 1);
  EXPECT_EQ(peer.hear()["id"], 2);
  EXPECT_EQ(peer.hear(), nullptr);
}

TEST_F(ServerTest, CallsAndClientsBeyondTheBoundsAreRefused) {
  options_.limits.connection.max_calls = 3;
  options_.limits.max_clients = 2;
  listen_on_socket();
  serve();
  Peer first = connect();
  for (int i = 0; i < 4; ++i) first.ask(std::to_string(i), "hold");
  const json refused = first.hear();
  EXPECT_EQ(refused["id"], 3);
  EXPECT_EQ(refused["error"]["data"]["code"], "too_many");
  Peer second = connect();
  second.ask("1", "echo");
  EXPECT_EQ(second.hear()["id"], 1);
  Peer third = connect();
  EXPECT_EQ(third.hear()["error"]["data"]["code"], "too_many");
  EXPECT_EQ(third.hear(), nullptr);
}

TEST_F(ServerTest, WithoutDescriptorsItStillServesItsClients) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.ask("1", "echo");
  peer.hear();
  std::vector<OwnedFd> waiting;
  waiting.reserve(8);
  for (int i = 0; i < 8; ++i) waiting.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct rlimit before {};
  getrlimit(RLIMIT_NOFILE, &before);
  const struct rlimit none { 0, before.rlim_max };
  setrlimit(RLIMIT_NOFILE, &none);
  const sockaddr_un address = name();
  for (const OwnedFd& fd : waiting) {
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  for (int i = 0; i < 20; ++i) {
    peer.ask(std::to_string(i), "echo");
    EXPECT_EQ(peer.hear()["id"], i);
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(ServerTest, LeavesWhenThereIsNobodyToServe) {
  options_.limits.idle = milliseconds(50);
  bool told = false;
  options_.before_leaving = [&told] { told = true; };
  listen_on_socket();
  const auto began = steady_clock::now();
  serve();
  {
    Peer peer = connect();
    std::this_thread::sleep_for(milliseconds(150));
    peer.ask("1", "echo");
    EXPECT_EQ(peer.hear()["id"], 1);  // a client keeps it
  }
  wait_for_end();
  EXPECT_GE(steady_clock::now() - began, milliseconds(200));
  EXPECT_TRUE(told);
}

TEST_F(ServerTest, ATaskKeepsItFromLeaving) {
  options_.limits.idle = milliseconds(20);
  listen_on_socket();
  serve();
  connect().start("sleep 1000");
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE(is_done_);
}

TEST_F(ServerTest, AStreamIsServedHoweverLongItIsSilent) {
  options_.limits.idle = milliseconds(20);
  Peer peer(pair());
  serve();
  std::this_thread::sleep_for(milliseconds(200));
  peer.ask("1", "approve");
  EXPECT_EQ(peer.hear()["result"], true);
}

TEST_F(ServerTest, TheEndOfTheStreamEndsEverything) {
  Peer peer(pair());
  serve();
  for (int i = 0; i < 3; ++i) peer.start("sleep 1000");
  peer.close();
  wait_for_end();
  EXPECT_TRUE(was_idle_);
}

TEST_F(ServerTest, CallsInFlightGetAMomentAtTheEndOfTheStream) {
  options_.limits.drain = milliseconds(100);
  Peer peer(pair(true));
  serve();
  const std::string task = peer.start("sleep 1000");
  peer.ask("1", "wait", json{{"task_id", task}}.dump());
  peer.ask("2", "big", R"({"since":600000})");
  peer.half_close();
  EXPECT_EQ(peer.hear()["id"], 2);
  EXPECT_EQ(peer.hear()["method"], "task.cancelled");
  EXPECT_EQ(peer.hear()["method"], "task.exit");
  EXPECT_EQ(peer.hear()["result"]["status"], "cancelled");
  wait_for_end();
}

TEST_F(ServerTest, ShutdownIsAnsweredAndTellsOtherClients) {
  listen_on_socket();
  serve();
  Peer other = connect();
  other.start("sleep 1000");
  Peer peer = connect();
  peer.ask("1", "shutdown");
  EXPECT_EQ(peer.hear()["id"], 1);
  EXPECT_EQ(other.hear()["method"], "task.cancelled");
  wait_for_end();
}

TEST_F(ServerTest, TasksThatDoNotEndAreNotWaitedForLongerThanTheGrace) {
  options_.limits.ending = milliseconds(100);
  Peer peer(pair());
  serve();
  peer.start(kStubborn);
  EXPECT_EQ(peer.hear()["params"]["text"], "ready\n");
  peer.ask("1", "shutdown");
  EXPECT_EQ(peer.hear_answer()["id"], 1);
  wait_for_end();
  EXPECT_FALSE(was_idle_);
}

TEST_F(ServerTest, AClientThatNeverReadsDoesNotKeepItFromEnding) {
  options_.limits.farewell = milliseconds(100);
  Peer peer(pair());
  serve();
  peer.ask("1", "big", R"({"since":30000000})");
  stop_.reset();
  wait_for_end();
}

TEST_F(ServerTest, TheOwnersEndEndsIt) {
  listen_on_socket();
  serve();
  Peer peer = connect();
  peer.start(kStubborn);
  EXPECT_EQ(peer.hear()["params"]["text"], "ready\n");
  stop_.reset();
  EXPECT_EQ(peer.hear()["method"], "task.cancelled");
  wait_for_end();
}

TEST_F(ServerTest, ReadsAFileAndWritesAPipeThatBlocks) {
  const std::string path = directory_ + "/requests";
  OwnedFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::string text =
      write_request("1", "big", R"({"since":2000000})") + "\n" + write_request("2", "echo", "{}");
  ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  lseek(file.get(), 0, SEEK_SET);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  stream_ = {std::move(file), OwnedFd(ends[1]), true};
  const OwnedFd read_end(ends[0]);
  serve();
  LineReader reader;
  std::vector<std::string> lines;
  while (read_some(read_end.get(), reader) == IoState::kOpen) {
    while (auto line = reader.next()) lines.push_back(line->text);
  }
  wait_for_end();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), 2'000'000U + 36);
  EXPECT_EQ(lines[1], R"({"jsonrpc":"2.0","id":2,"result":""})");
}

TEST_F(ServerTest, NobodyReadsStdoutAnyMoreSoItEnds) {
  int in[2];
  int out[2];
  ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  const OwnedFd writer(in[1]);
  stream_ = {OwnedFd(in[0]), OwnedFd(out[1]), true};
  OwnedFd(out[0]).reset();
  serve();
  wait_for_end();
}

}  // namespace
}  // namespace sbx
