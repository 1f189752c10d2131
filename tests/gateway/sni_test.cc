// SPDX-License-Identifier: Apache-2.0
// What a connection that was allowed by name may call its server.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/gateway.h"
#include "gateway/hello.h"
#include "gateway/world.h"

namespace sbx::test {
namespace {

class SniTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!world_obstacle().empty()) GTEST_SKIP() << world_obstacle();
    world_ = std::make_unique<World>(
        std::vector<std::string>{"example.test:443", "203.0.113.8:443"},
        [](GatewayOptions& options) { options.hosts = "203.0.113.7 example.test\n"; });
    world_->listen_inside({443});
    world_->serve_dns_inside();
    server_ = outside_tcp(at("203.0.113.7", 443));
    auto pair = world_->connect_through(at(world_->lookup("example.test"), 443), server_.get());
    client_ = std::move(pair.first);
    accepted_ = std::move(pair.second);
    ASSERT_TRUE(accepted_.is_open());
  }
  bool arrives(const std::string& bytes) {
    Seen seen;
    return world_->until([&] { return look(accepted_.get(), seen), seen.bytes == bytes; });
  }
  // Both sides see a reset, and the server not one byte.
  bool is_cut() {
    Seen at_client, at_server;
    return world_->until([&] {
      look(client_.get(), at_client);
      look(accepted_.get(), at_server);
      return at_client.is_reset && at_server.is_reset;
    }) && at_server.bytes.empty();
  }

  std::unique_ptr<World> world_;
  OwnedFd server_, client_, accepted_;
};

TEST_F(SniTest, PassesAHelloForTheNameThatWasAllowed) {
  const std::string hello = client_hello({"EXAMPLE.test", 0, 0});
  ASSERT_TRUE(send_all(client_.get(), hello));
  EXPECT_TRUE(arrives(hello));
}

TEST_F(SniTest, PassesAHelloThatComesInManyPieces) {
  const std::string hello = client_hello({"example.test", 7, 300});
  for (std::size_t i = 0; i < hello.size(); i += 50) {
    ASSERT_TRUE(send_all(client_.get(), hello.substr(i, 50)));
    world_->settle();
  }
  EXPECT_TRUE(arrives(hello));
}

TEST_F(SniTest, PassesAHelloWithoutAName) {
  const std::string hello = client_hello({"", 0, 0});
  ASSERT_TRUE(send_all(client_.get(), hello));
  EXPECT_TRUE(arrives(hello));
}

TEST_F(SniTest, PassesWhatIsNoTls) {
  ASSERT_TRUE(send_all(client_.get(), "GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(arrives("GET / HTTP/1.1\r\n\r\n"));
}

TEST_F(SniTest, RefusesAHelloForAnotherName) {
  ASSERT_TRUE(send_all(client_.get(), client_hello({"other.test", 0, 0})));
  EXPECT_TRUE(is_cut());
  EXPECT_TRUE(world_->is_denied("tls_sni", "other.test:443 at example.test:443"));
  EXPECT_EQ(world_->denials().front().grant, "");  // being allowed, it would be refused there too
}

TEST_F(SniTest, RefusesAHelloForAnotherNameCutIntoRecords) {
  ASSERT_TRUE(send_all(client_.get(), client_hello({"other.test", 1, 0})));
  EXPECT_TRUE(is_cut());
}

TEST_F(SniTest, RefusesAHelloThatCannotBeRead) {
  std::string hello = client_hello({"example.test", 0, 0});
  hello[5] = 2;  // a server's
  ASSERT_TRUE(send_all(client_.get(), hello));
  EXPECT_TRUE(is_cut());
  EXPECT_TRUE(world_->is_denied("tls_sni", "(unreadable) at example.test:443"));
}

TEST_F(SniTest, RefusesAnAlertBeforeAHello) {
  ASSERT_TRUE(
      send_all(client_.get(), tls_record(21, "\1\x70") + client_hello({"other.test", 0, 0})));
  EXPECT_TRUE(is_cut());
  EXPECT_TRUE(world_->is_denied("tls_sni", "(unreadable) at example.test:443"));
}

TEST_F(SniTest, RefusesASecondHelloForAnotherNameAndPassesNothingOfIt) {
  const std::string first = client_hello({"example.test", 0, 0}) + tls_record(20, "\1");
  ASSERT_TRUE(send_all(client_.get(), first));
  Seen at_server, at_client;
  ASSERT_TRUE(
      world_->until([&] { return look(accepted_.get(), at_server), at_server.bytes == first; }));
  const std::string second = client_hello({"other.test", 30, 200});
  for (std::size_t i = 0; i < second.size(); i += 40) {
    send_all(client_.get(), second.substr(i, 40));
    world_->settle();
  }
  ASSERT_TRUE(world_->until([&] {
    look(client_.get(), at_client);
    look(accepted_.get(), at_server);
    return at_client.is_reset && at_server.is_reset;
  }));
  EXPECT_EQ(at_server.bytes, first);
  EXPECT_TRUE(world_->is_denied("tls_sni", "other.test:443 at example.test:443"));
}

TEST_F(SniTest, PassesAWholeHandshakeWithTwoHellosAndTheDataAfterIt) {
  const std::string hello = client_hello({"example.test", 0, 0});
  const std::string all =
      hello + tls_record(20, "\1") + hello + tls_record(23, "data") + "anything";
  for (std::size_t i = 0; i < all.size(); i += 30) {
    ASSERT_TRUE(send_all(client_.get(), all.substr(i, 30)));
    world_->settle();
  }
  EXPECT_TRUE(arrives(all));
}

TEST_F(SniTest, LetsAServerSpeakFirst) {
  ASSERT_TRUE(send_all(accepted_.get(), "220 ready\r\n"));
  Seen seen;
  EXPECT_TRUE(
      world_->until([&] { return look(client_.get(), seen), seen.bytes == "220 ready\r\n"; }));
}

TEST_F(SniTest, DoesNotLookIntoWhatGoesToAnAllowedAddress) {
  const OwnedFd server = outside_tcp(at("203.0.113.8", 443));
  auto [client, accepted] = world_->connect_through(at("203.0.113.8", 443), server.get());
  ASSERT_TRUE(accepted.is_open());
  const std::string hello = client_hello({"other.test", 0, 0});
  ASSERT_TRUE(send_all(client.get(), hello));
  const int server_end = accepted.get();  // clang 14's lambdas capture no structured bindings
  Seen seen;
  EXPECT_TRUE(world_->until([&] { return look(server_end, seen), seen.bytes == hello; }));
}

}  // namespace
}  // namespace sbx::test
