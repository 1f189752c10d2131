// SPDX-License-Identifier: Apache-2.0
// Names as the sandbox sees them, and the host's name servers as the resolver meets them.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "gateway/resolv_conf.h"
#include "gateway/world.h"

namespace sbx::test {
namespace {

constexpr std::uint16_t kTypeTxt = 16;
constexpr std::uint16_t kTypeSrv = 33;
constexpr std::uint16_t kTypeHttps = 65;

class DnsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!world_obstacle().empty()) GTEST_SKIP() << world_obstacle();
  }
  std::unique_ptr<World> make(FakeDns::Handler handler,
                              const std::function<void(GatewayOptions&)>& adjust = {}) {
    auto world =
        std::make_unique<World>(std::vector<std::string>{"a.test", "*.w.test", "short"}, adjust);
    world->dns = std::make_unique<FakeDns>(std::move(handler));
    world->serve_dns_inside();
    return world;
  }
  static std::string code(World& world, const std::string& name, std::uint16_t type) {
    const std::string reply = world.ask(name, type, at("192.0.2.53", 53));
    if (reply.size() < 12) return "silence";
    return "#" + std::to_string(reply[3] & 0xF) + " with " + std::to_string(reply[7]);
  }
};

TEST_F(DnsTest, AnswersAllowedNamesAndDeniesOthersWithoutAskingOutside) {
  const auto world = make(table({{"a.test", {"203.0.113.7"}}, {"evil.test", {"203.0.113.8"}}}));
  EXPECT_EQ(world->lookup("evil.test"), "#3");
  EXPECT_EQ(world->lookup("secret.evil.test"), "#3");
  EXPECT_EQ(world->dns->udp_questions(), 0) << "a name that is not allowed left the host";
  EXPECT_TRUE(world->is_denied("dns", "evil.test"));
  EXPECT_EQ(world->denials().front().grant, "network.allow += [\"evil.test\"]");
  EXPECT_EQ(world->lookup("A.TeSt"), "198.18.0.1");
  EXPECT_EQ(world->lookup("a.test"), "198.18.0.1");
  EXPECT_EQ(world->dns->udp_questions(), 2) << "A and AAAA, once: the answer is kept";
}

TEST_F(DnsTest, AnswersFromTheAddressThatWasAsked) {
  const auto world = make(table({{"a.test", {"203.0.113.7"}}}));
  ASSERT_TRUE(world->gateway().add_dns(inside_udp(at("2001:db8::1", 53)), OwnedFd()).ok());
  // The client's socket is connected: an answer from elsewhere would not reach it.
  for (const char* server : {"127.0.0.53", "10.9.8.7", "2001:db8::1"}) {
    const std::string reply = world->ask("a.test", 1, at(server, 53));
    EXPECT_TRUE(read_dns_reply(reply, 0x1234, "a.test", DnsType::kA)) << server;
  }
}

TEST_F(DnsTest, SaysThatAnAllowedNameHasNoOtherRecords) {
  const auto world = make(table({{"a.test", {"203.0.113.7"}}}));
  EXPECT_EQ(code(*world, "a.test", kTypeHttps), "#0 with 0");
  EXPECT_EQ(code(*world, "a.test", kTypeTxt), "#0 with 0");
  EXPECT_EQ(code(*world, "a.test", 28), "#0 with 0");
  EXPECT_EQ(code(*world, "evil.test", kTypeTxt), "#3 with 0");
  EXPECT_EQ(code(*world, "1.0.18.198.in-addr.arpa", 12), "#3 with 0");
  EXPECT_FALSE(world->is_denied("dns", "1.0.18.198.in-addr.arpa"));
  // apt asks which servers an allowed name has.
  EXPECT_EQ(code(*world, "_http._tcp.a.test", kTypeSrv), "#0 with 0");
  EXPECT_FALSE(world->is_denied("dns", "_http._tcp.a.test"));
  for (const char* const name : {"_http._tcp.evil.test", "_http.a.test", "http._tcp.a.test"}) {
    EXPECT_EQ(code(*world, name, kTypeSrv), "#3 with 0") << name;
  }
  EXPECT_EQ(code(*world, "_http._tcp.a.test", 1), "#3 with 0");
}

TEST_F(DnsTest, TellsANameThatDoesNotExistFromAServerThatDoesNotAnswer) {
  auto world = make(table({}));
  EXPECT_EQ(world->lookup("x.w.test"), "#3");
  EXPECT_TRUE(world->denials().empty());
  world->dns.reset();
  EXPECT_EQ(world->lookup("y.w.test"), "#2");
}

TEST_F(DnsTest, KeepsLocalhostInside) {
  const auto world = make(table({}));
  EXPECT_EQ(world->lookup("localhost"), "127.0.0.1");
  EXPECT_EQ(world->lookup("x.localhost", DnsType::kAaaa), "::1");
  EXPECT_EQ(world->dns->udp_questions(), 0);
}

TEST_F(DnsTest, DoesNotCountNamesThatOnlyASearchDomainMade) {
  const auto world = make(table({}), [](GatewayOptions& options) {
    options.resolv_conf = "search corp.test\nnameserver 203.0.113.53\n";
  });
  EXPECT_EQ(world->lookup("a.test.corp.test"), "#3");
  EXPECT_EQ(world->lookup("localhost.corp.test"), "#3");
  EXPECT_TRUE(world->denials().empty());
  EXPECT_EQ(world->lookup("evil.test.corp.test"), "#3");
  EXPECT_FALSE(world->denials().empty());
}

TEST_F(DnsTest, TriesSearchDomainsForANameWithoutADot) {
  const auto world =
      make(table({{"short.corp.test", {"203.0.113.7"}}}), [](GatewayOptions& options) {
        options.resolv_conf = "search corp.test\nnameserver 203.0.113.53\n";
      });
  EXPECT_EQ(world->lookup("short"), "198.18.0.1");
}

TEST_F(DnsTest, GoesToTheNextServerWhenOneRefusesOrIsAbsent) {
  const auto world = make(table({{"a.test", {"203.0.113.7"}}}), [](GatewayOptions& options) {
    options.resolv_conf =
        "nameserver 203.0.113.54\nnameserver 203.0.113.55\nnameserver 203.0.113.53";
  });
  FakeDns refusing(
      [](const DnsQuery& query, bool) {
        return std::vector{write_dns_reply(query, DnsCode::kRefused, {}, 0, 512)};
      },
      "203.0.113.55");
  world->also_step = [&] { refusing.step(); };
  EXPECT_EQ(world->lookup("a.test"), "198.18.0.1");
  EXPECT_EQ(refusing.udp_questions(), 2);
}

TEST_F(DnsTest, AsksAgainWhenADatagramIsLost) {
  int heard = 0;
  const auto answer = table({{"a.test", {"203.0.113.7"}}});
  const auto world = make([&](const DnsQuery& query, bool is_tcp) {
    return ++heard <= 2 ? std::vector<std::string>() : answer(query, is_tcp);
  });
  EXPECT_EQ(world->lookup("a.test"), "198.18.0.1");
  EXPECT_EQ(heard, 4);
}

TEST_F(DnsTest, AsksByTcpWhenAnAnswerIsTruncated) {
  const auto world = make([](const DnsQuery& query, bool is_tcp) {
    std::vector<IpAddress> many(60, ipv4(203, 0, 113, 7));
    if (query.type != 1) many.clear();
    return std::vector{write_dns_reply(query, DnsCode::kOk, many, 60, is_tcp ? 65535 : 512)};
  });
  EXPECT_EQ(world->lookup("a.test"), "198.18.0.1");
  EXPECT_EQ(world->dns->tcp_questions(), 1);
}

TEST_F(DnsTest, IgnoresForgedAnswers) {
  const auto world = make([](const DnsQuery& query, bool) {
    DnsQuery forged = query;
    forged.id = static_cast<std::uint16_t>(query.id + 1);
    DnsQuery other = query;
    other.question[1] = 'b';
    const std::vector<IpAddress> loopback{ipv4(127, 0, 0, 1)};
    const std::vector<IpAddress> none;
    const bool is_v4 = query.type == 1;
    return std::vector{write_dns_reply(forged, DnsCode::kOk, is_v4 ? loopback : none, 60, 512),
                       write_dns_reply(other, DnsCode::kOk, is_v4 ? loopback : none, 60, 512),
                       std::string("garbage"),
                       write_dns_reply(query, DnsCode::kOk,
                                       is_v4 ? std::vector{ipv4(203, 0, 113, 7)} : none, 60, 512)};
  });
  EXPECT_EQ(world->lookup("a.test"), "198.18.0.1");
}

TEST_F(DnsTest, AnswersOverTcpSeveralQuestionsOfOneClient) {
  const auto world = make(table({{"a.test", {"203.0.113.7"}}}));
  const OwnedFd client = inside_client(at("192.0.2.53", 53));
  std::string questions;
  for (const char* name : {"a.test", "evil.test"}) {
    const std::string query = write_dns_query(9, name, DnsType::kA);
    questions += std::string{0, static_cast<char>(query.size())} + query;
  }
  world->settle();
  for (const char byte : questions) {
    ASSERT_TRUE(send_all(client.get(), std::string(1, byte)));
  }
  Seen seen;
  std::map<std::string, bool> answered;
  ASSERT_TRUE(world->until([&] {
    look(client.get(), seen);
    while (seen.bytes.size() >= 2 &&
           seen.bytes.size() >= 2U + static_cast<unsigned char>(seen.bytes[1])) {
      const std::string reply = seen.bytes.substr(2, static_cast<unsigned char>(seen.bytes[1]));
      seen.bytes.erase(0, 2 + reply.size());
      for (const char* name : {"a.test", "evil.test"}) {
        const auto read = read_dns_reply(reply, 9, name, DnsType::kA);
        if (read) answered[name] = !read->addresses.empty();
      }
    }
    return answered.size() == 2;
  }));
  EXPECT_TRUE(answered["a.test"]);
  EXPECT_FALSE(answered["evil.test"]);
}

TEST_F(DnsTest, HangsUpOnATcpClientThatSendsNoQuestions) {
  const auto world = make(table({}));
  const OwnedFd client = inside_client(at("192.0.2.53", 53));
  world->settle();
  ASSERT_TRUE(send_all(client.get(), "\xFF\xFFnonsense"));
  Seen seen;
  EXPECT_TRUE(world->until([&] {
    look(client.get(), seen);
    return seen.at_end || seen.is_reset;
  }));
}

// Of so many questions, each for the name of its number.
int answered(World& world, int count, const std::function<std::string(int)>& name) {
  const OwnedFd client = inside_udp_client(at("192.0.2.53", 53));
  for (int i = 0; i < count; ++i) {
    const std::string query = write_dns_query(static_cast<std::uint16_t>(i), name(i), DnsType::kA);
    send(client.get(), query.data(), query.size(), 0);
    if (i % 50 == 0) world.settle();
  }
  world.settle();
  int answers = 0;
  char bytes[512];
  while (recv(client.get(), bytes, sizeof(bytes), 0) > 0) ++answers;
  return answers;
}

TEST_F(DnsTest, SurvivesAFloodOfQuestionsForNamesThatDoNotAnswer) {
  const auto world = make([](const DnsQuery&, bool) { return std::vector<std::string>(); });
  // Those beyond the bound are answered at once with a failure; the others wait.
  EXPECT_GT(answered(*world, 600, [](int i) { return "n" + std::to_string(i) + ".w.test"; }), 0);
  EXPECT_LE(world->dns->udp_questions(), 2 * 256);
}

TEST_F(DnsTest, SurvivesAFloodOfQuestionsForOneNameThatDoesNotAnswer) {
  const auto world = make([](const DnsQuery&, bool) { return std::vector<std::string>(); });
  EXPECT_EQ(answered(*world, 300, [](int) { return "n.w.test"; }), 300 - 256);
}

TEST(ResolvConf, ReadsSoManyNamesOfHosts) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "10.0.0.1 n" + std::to_string(i) + "\n";
  for (int i = 0; i < 20; ++i) text += "10.0.0." + std::to_string(i) + " n0 last\n";
  const HostsFile hosts = parse_hosts(text);
  EXPECT_EQ(hosts.size(), 4096U);
  EXPECT_FALSE(hosts.contains("last"));
  EXPECT_EQ(hosts.at("n0").size(), 16U);
}

TEST(ResolvConf, ReadsWhatLibcReads) {
  const ResolvConf conf = parse_resolv_conf(
      "# a comment\n; another\ndomain old.test\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\n"
      "search One.test two.test. bad..name\nnameserver\t2001:db8::1 \r\nnameserver 10.0.0.3\n"
      "nameserver 10.0.0.4\noptions ndots:2\n");
  ASSERT_EQ(conf.servers.size(), 3U);
  EXPECT_EQ(ip_text(conf.servers[1]), "2001:db8::1");
  EXPECT_EQ(conf.search, (std::vector<std::string>{"one.test", "two.test"}));
  EXPECT_EQ(ip_text(parse_resolv_conf("").servers.front()), "127.0.0.1");
}

TEST(ResolvConf, ReadsHosts) {
  const HostsFile hosts =
      parse_hosts("127.0.0.1 localhost # me\n10.0.0.1\tDB.test db\n::1 localhost\nnonsense x\n");
  EXPECT_EQ(hosts.at("db.test").front(), ipv4(10, 0, 0, 1));
  EXPECT_EQ(hosts.at("localhost").size(), 2U);
  EXPECT_FALSE(hosts.contains("x"));
}

}  // namespace
}  // namespace sbx::test
