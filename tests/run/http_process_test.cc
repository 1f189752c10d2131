// SPDX-License-Identifier: Apache-2.0
// Two policies under one sbx-http, on socket pairs that stand for the gateway's.
#include "run/http_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>

#include "http/authority.h"
#include "run/network.h"
#include "support/host_rules.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

constexpr const char* kSecret = "secret_0123456789abcdef";
constexpr int kLimitMs = 10'000;

struct Sink : HttpSink {
  void on_exchange(std::size_t /*number*/, HttpExchange exchange) override { last = exchange; }
  void on_denial(Denial denial) override { denials.push_back(std::move(denial)); }
  void on_end(std::uint64_t /*out*/, std::uint64_t /*in*/) override { has_ended = true; }
  void on_refusal() override { is_refused = true; }
  HttpExchange last;
  std::vector<Denial> denials;
  bool has_ended = false;
  bool is_refused = false;
};

std::vector<pid_t> children() {
  std::ifstream list("/proc/self/task/" + std::to_string(gettid()) + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

bool until(HttpProcess& process, const std::function<bool()>& is_so) {
  for (int waited = 0; waited < kLimitMs; waited += 10) {
    process.step();
    if (is_so()) return true;
    pollfd ready{process.poll_fd(), POLLIN, 0};
    poll(&ready, 1, 10);
  }
  return false;
}

// What comes, until it holds `end`, or nothing more does.
std::string read_until(int fd, std::string_view end) {
  std::string text;
  while (text.find(end) == std::string::npos) {
    pollfd ready{fd, POLLIN, 0};
    char piece[4096];
    if (poll(&ready, 1, kLimitMs) <= 0) break;
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

// A connection of a command's, with an origin that answers one request.
class Pair {
 public:
  Pair(HttpPolicy& policy, const std::string& request, const void* run = nullptr)
      : Pair(policy, 80, run) {
    EXPECT_EQ(write(client_.get(), request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
  }
  Pair(HttpPolicy& policy, int port, const void* run = nullptr) : sink(std::make_shared<Sink>()) {
    int client[2];
    int server[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, server), 0);
    for (const int end : {client[1], server[1]}) fcntl(end, F_SETFL, O_NONBLOCK);
    const timeval patience{kLimitMs / 1000, 0};
    for (const int end : {client[0], server[0]}) {
      setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    client_.reset(client[0]);
    server_.reset(server[0]);
    HttpPair pair{"a.test", port, OwnedFd(client[1]), OwnedFd(server[1]), run};
    EXPECT_TRUE(policy.hand_over(std::move(pair), sink));
  }
  // As it came to the origin; empty: the command was answered by sbx-http.
  std::string at_origin() {
    pollfd ready[2] = {{client_.get(), POLLIN, 0}, {server_.get(), POLLIN, 0}};
    if (poll(ready, 2, kLimitMs) <= 0 || (ready[1].revents & POLLIN) == 0) return "";
    return read_until(server_.get(), "\r\n\r\n");
  }
  std::string answer() { return read_until(client_.get(), "}"); }
  int client() const { return client_.get(); }
  int server() const { return server_.get(); }

  std::shared_ptr<Sink> sink;

 private:
  OwnedFd client_;
  OwnedFd server_;
};

std::string get(const std::string& path, const std::string& token = "") {
  const std::string field = token.empty() ? "" : "Authorization: " + token + "\r\n";
  return "GET " + path + " HTTP/1.1\r\nHost: a.test\r\n" + field + "\r\n";
}

std::string read_tls(SSL* ssl, std::string_view end) {
  std::string text;
  char piece[4096];
  while (text.find(end) == std::string::npos) {
    const int got = SSL_read(ssl, piece, sizeof piece);
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

// A client that trusts `bundle` alone asks; the request as the origin has read it, or none.
std::string at_tls_origin(HttpPolicy& policy, http::Authority& origin, const std::string& bundle,
                          const std::string& request) {
  Pair pair(policy, 443);
  std::thread asks([&] {
    const http::OwnedStore store = http::read_store(bundle);
    const http::OwnedContext context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set1_cert_store(context.get(), store.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    const http::OwnedSsl ssl(SSL_new(context.get()));
    SSL_set1_host(ssl.get(), "a.test");
    SSL_set_tlsext_host_name(ssl.get(), "a.test");
    SSL_set_fd(ssl.get(), pair.client());
    if (SSL_connect(ssl.get()) == 1) {
      SSL_write(ssl.get(), request.data(), static_cast<int>(request.size()));
      read_tls(ssl.get(), "\r\n\r\n");
    }
    shutdown(pair.client(), SHUT_RDWR);
  });
  std::string asked;
  std::atomic<bool> is_over = false;
  std::thread answers([&] {
    const http::OwnedSsl ssl = origin.accept("a.test");
    SSL_set_fd(ssl.get(), pair.server());
    if (SSL_accept(ssl.get()) == 1) asked = read_tls(ssl.get(), "\r\n\r\n");
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    if (!asked.empty()) SSL_write(ssl.get(), kAnswer.data(), kAnswer.size());
    is_over = true;
  });
  EXPECT_TRUE(until(policy.process(), [&] { return is_over.load(); }));
  asks.join();
  answers.join();
  return asked;
}

class HttpProcessTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef SBX_SANITIZED
    GTEST_SKIP() << "sbx-http's filter has no room for a sanitizer";
#endif
    const std::vector<HostRule> hosts = {*parse_host_rule("a.test")};
    origin_ = std::move(http::Authority::make(hosts, http::read_store("").get())).value();
    place_.file("bundle", origin_->certificate());
    environment_ = {{"SSL_CERT_FILE", place_.at("bundle")},
                    {"TOKEN", kSecret},
                    {"BEFORE", " value-1"},
                    {"BEHIND", "value-1 "}};
    setenv("TOKEN", kSecret, 1);
    first_ = add("/first", "FIRST");
    second_ = add("/second", "SECOND");
    ASSERT_TRUE(first_ && second_);
  }
  void TearDown() override {
    process_.end();
    unsetenv("TOKEN");
    EXPECT_TRUE(children().empty());
  }
  // Both have the same source.
  std::shared_ptr<HttpPolicy> add(const std::string& path, const std::string& name,
                                  bool asks = false) {
    NetworkProfile network;
    network.mode = NetworkMode::kAllowlist;
    network.allow = host_rules({"a.test"});
    network.http = {
        {host_rule("a.test"), std::nullopt, std::vector<std::string>{path}, std::nullopt, asks}};
    Credential credential;
    credential.name = name;
    credential.host = host_rule("a.test");
    credential.header = "Authorization";
    credential.from.env = "TOKEN";
    network.credentials = {credential};
    auto made = process_.policy_for(network, set_, "/usr/bin:/bin", environment_);
    EXPECT_TRUE(made.ok()) << made.error().where << " " << made.error().message;
    return made.ok() ? made.value() : nullptr;
  }
  void expect_each_its_own() {
    for (const auto& [policy, own, other] :
         {std::tuple(first_, "/first", "/second"), std::tuple(second_, "/second", "/first")}) {
      EXPECT_NE(Pair(*policy, get(own)).at_origin().find(own), std::string::npos) << own;
      Pair refused(*policy, get(other));
      EXPECT_EQ(refused.at_origin(), "");
      EXPECT_NE(refused.answer().find(" 403 "), std::string::npos);
      EXPECT_TRUE(until(process_, [&] { return !refused.sink->denials.empty(); }));
    }
  }

  test::TempDir place_;
  std::unique_ptr<http::Authority> origin_;
  Environment environment_;
  std::map<std::string, std::string> set_;
  HttpProcess process_;
  std::shared_ptr<HttpPolicy> first_;
  std::shared_ptr<HttpPolicy> second_;
};

TEST_F(HttpProcessTest, OneProcessServesAllPolicies) {
  EXPECT_EQ(children().size(), 1U);
  EXPECT_EQ(add("/first", "FIRST"), first_);
  EXPECT_EQ(children().size(), 1U);
  EXPECT_EQ(process_.policy_for({}, set_, "/usr/bin:/bin", environment_).ok(), true);
  EXPECT_EQ(children().size(), 1U);
}

TEST_F(HttpProcessTest, AConnectionIsUnderTheRulesOfItsOwnPolicy) { expect_each_its_own(); }

TEST_F(HttpProcessTest, EachPolicyHasItsOwnAuthorityAndPlaceholders) {
  const std::string& placeholder = first_->placeholders["FIRST"];
  EXPECT_EQ(placeholder.size(), std::string_view(kSecret).size());
  EXPECT_NE(placeholder, second_->placeholders["SECOND"]);
  EXPECT_EQ(first_->placeholders.size() + second_->placeholders.size(), 2U);
  EXPECT_NE(first_->trust_bundle, second_->trust_bundle);
  EXPECT_FALSE(environment_.contains("TOKEN"));
  EXPECT_STREQ(getenv("TOKEN"), "");
}

// Without TLS a placeholder that is known is refused; the other policy's is a text like any other.
TEST_F(HttpProcessTest, ACredentialIsKnownUnderItsOwnPolicyAlone) {
  const std::string placeholder = second_->placeholders["SECOND"];
  Pair own(*second_, get("/second", placeholder));
  EXPECT_EQ(own.at_origin(), "");
  EXPECT_NE(own.answer().find("SECOND"), std::string::npos);
  const std::string seen = Pair(*first_, get("/first", placeholder)).at_origin();
  EXPECT_NE(seen.find(placeholder), std::string::npos);
  EXPECT_EQ(seen.find(kSecret), std::string::npos);
}

TEST_F(HttpProcessTest, OverTlsTheOnesAuthorityAndPlaceholderAreOfNoUseToTheOther) {
  signal(SIGPIPE, SIG_IGN);
  const std::string first = first_->placeholders["FIRST"];
  const std::string second = second_->placeholders["SECOND"];
  const auto ask = [&](HttpPolicy& policy, HttpPolicy& trusted, const std::string& path,
                       const std::string& token) {
    return at_tls_origin(policy, *origin_, trusted.trust_bundle, get(path, token));
  };
  EXPECT_NE(ask(*first_, *first_, "/first", first).find(kSecret), std::string::npos);
  EXPECT_NE(ask(*second_, *second_, "/second", second).find(kSecret), std::string::npos);
  for (const auto& [policy, path, token] :
       {std::tuple(first_, "/first", second), std::tuple(second_, "/second", first)}) {
    const std::string asked = ask(*policy, *policy, path, token);
    EXPECT_NE(asked.find(token), std::string::npos);
    EXPECT_EQ(asked.find(kSecret), std::string::npos);
  }
  EXPECT_EQ(ask(*first_, *second_, "/first", first), "");
  EXPECT_EQ(ask(*second_, *first_, "/second", second), "");
}

TEST_F(HttpProcessTest, NoRunTakesThePlaceOfAllOthersQuestions) {
  std::vector<std::uint64_t> asked;
  process_.set_ask([&](std::uint64_t number, const HttpQuestion& /*question*/) {
    asked.push_back(number);
    return true;
  });
  const auto policy = add("/asked", "ASKED", true);
  ASSERT_TRUE(policy);
  const int runs[5] = {};
  std::vector<std::unique_ptr<Pair>> waiting;
  const auto ask = [&](int run, std::size_t count) {
    const std::size_t all = asked.size() + count;
    for (; count > 0; --count) {
      waiting.push_back(std::make_unique<Pair>(*policy, get("/asked"), &runs[run]));
    }
    return until(process_, [&] { return asked.size() == all; });
  };
  const auto expect_refused = [&](int run) {
    const std::size_t had = asked.size();
    Pair more(*policy, get("/asked"), &runs[run]);
    EXPECT_TRUE(until(process_, [&] { return !more.sink->denials.empty(); })) << run;
    EXPECT_NE(more.answer().find(" 403 "), std::string::npos) << run;
    EXPECT_EQ(asked.size(), had) << run;
  };
  ASSERT_TRUE(ask(0, 64));
  expect_refused(0);
  for (const int run : {1, 2, 3}) ASSERT_TRUE(ask(run, 64));
  expect_refused(4);
  EXPECT_TRUE(process_.answer(asked.front(), true));
  EXPECT_NE(waiting.front()->at_origin().find("/asked"), std::string::npos);
  EXPECT_FALSE(process_.answer(asked.front(), true));  // it waits no more
  EXPECT_TRUE(ask(4, 1));
}

TEST_F(HttpProcessTest, ACrashRefusesWhatWasOpenAndTheNextConnectionStartsItAgain) {
  Pair open(*second_, get("/second"));
  EXPECT_NE(open.at_origin(), "");
  const std::string placeholder = second_->placeholders["SECOND"];
  const pid_t old = children().at(0);
  kill(old, SIGKILL);
  EXPECT_TRUE(until(process_, [&] { return open.sink->has_ended; }));
  ASSERT_EQ(open.sink->denials.size(), 1U);
  EXPECT_EQ(open.sink->denials[0].operation, "connections");
  EXPECT_EQ(open.sink->denials[0].target, "a.test:80 (ended with sbx-http)");
  EXPECT_TRUE(children().empty());
  expect_each_its_own();
  EXPECT_EQ(children().size(), 1U);
  // By the state that was left: the same placeholder.
  Pair own(*second_, get("/second", placeholder));
  EXPECT_EQ(own.at_origin(), "");
  EXPECT_NE(own.answer().find("SECOND"), std::string::npos);
}

// While it has no time to answer: that is no reason to take it for dead.
TEST_F(HttpProcessTest, ManyRunsThatBeginAtOnceDoNotEndIt) {
  const pid_t pid = children().at(0);
  kill(pid, SIGSTOP);
  Policy policy;
  policy.sandbox.network.mode = NetworkMode::kAllowlist;
  policy.sandbox.http = first_;
  LaunchPlan plan;
  plan.clone_flags = CLONE_NEWNET;
  DenialLedger denials;
  std::array<Loop, 5> loops;
  std::vector<std::unique_ptr<RunNetwork>> runs;
  for (Loop& loop : loops) {
    ASSERT_TRUE(loop.open().ok());
    auto made = RunNetwork::create(policy, plan, "", loop, denials);
    ASSERT_TRUE(made.ok());
    runs.push_back(std::move(made).value());
  }
  kill(pid, SIGCONT);
  EXPECT_EQ(children(), std::vector<pid_t>{pid});
}

TEST_F(HttpProcessTest, VariablesThatAreSetAreLookedThroughAndAreNoSource) {
  set_ = {{"SAME", kSecret}, {"LONGER", std::string("a=") + kSecret}, {"FREE", "x"}};
  const auto third = add("/first", "FIRST");
  EXPECT_NE(third, first_);
  EXPECT_EQ(third->dropped, (std::vector<std::string>{"TOKEN", "LONGER", "SAME"}));
  EXPECT_EQ(add("/first", "FIRST"), third);
  set_ = {{"NOT_SET", "x"}};
  NetworkProfile network;
  network.credentials = {Credential{}};
  network.credentials[0].name = "X";
  network.credentials[0].host = host_rule("a.test");
  network.credentials[0].header = "X";
  network.credentials[0].from.env = "NOT_SET";
  EXPECT_FALSE(process_.policy_for(network, set_, "/usr/bin:/bin", environment_).ok());
}

TEST_F(HttpProcessTest, ASourceThatFailsLeavesTheOthersAsTheyAre) {
  NetworkProfile network;
  Credential credential;
  credential.name = "X";
  credential.host = host_rule("a.test");
  credential.header = "X";
  for (const char* const source : {"NOT_SET", "BEFORE", "BEHIND"}) {  // HTTP takes blanks off
    credential.from.env = source;
    network.credentials = {credential};
    const auto made = process_.policy_for(network, set_, "/usr/bin:/bin", environment_);
    ASSERT_FALSE(made.ok()) << source;
    EXPECT_EQ(made.error().where, "/network/credentials/0/from") << source;
  }
  EXPECT_EQ(children().size(), 1U);
  expect_each_its_own();
}

TEST(ValuesInFiles, AreThoseThatCanBeRead) {
  const test::TempDir directory;
  Credential filed;
  filed.from.file = directory.file("secret", "file-secret-value\n");
  Credential missing;
  missing.from.file = directory.at("missing");
  Credential from_variable;
  from_variable.from.env = "NAME";
  EXPECT_EQ(values_in_files({missing, filed, from_variable}),
            std::vector<std::string>{"file-secret-value"});
}

}  // namespace
}  // namespace sbx
