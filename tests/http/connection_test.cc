// SPDX-License-Identifier: Apache-2.0
// A client and an origin over TLS on socket pairs, each a thread that blocks; between them a
// Connection.
#include "http/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sbx::http {
namespace {

constexpr const char* kName = "own.test";

struct World : Context {
  World() {
    signal(SIGPIPE, SIG_IGN);
    EXPECT_TRUE(loop_.open().ok());
    const std::vector<HostRule> hosts = {*parse_host_rule(kName)};
    origin = std::move(Authority::make(hosts, read_store("").get())).value();
    own = std::move(Authority::make(hosts, read_store(origin->certificate()).get())).value();
  }
  Loop& loop() override { return loop_; }
  const Rules& rules() const override { return rules_; }
  Credentials& credentials() override { return credentials_; }
  Authority& authority() override { return *own; }
  void tell_exchange(const Peer& /*peer*/, std::size_t /*number*/,
                     const HttpExchange& /*exchange*/) override {}
  void tell_denial(const Peer& /*peer*/, const std::string& operation, const std::string& target,
                   const std::string& /*grant*/) override {
    denials += operation + " " + target + "\n";
  }
  std::uint64_t ask(const Peer& /*peer*/, const Judged& /*judged*/, const std::string& /*size*/,
                    Answer answer) override {
    answer(false);
    return 0;
  }
  void withdraw(std::uint64_t /*question*/) override {}
  void renew_values(const Peer& /*peer*/, std::function<void()> then) override { then(); }

  Loop loop_;
  Rules rules_{{}};
  Credentials credentials_{{}};
  std::unique_ptr<Authority> origin;
  std::unique_ptr<Authority> own;
  std::string denials;
};

std::pair<OwnedFd, OwnedFd> pair_of() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const timeval patience{20, 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return {OwnedFd(ends[0]), OwnedFd(ends[1])};
}

// What has come until the end, or until nobody says anything more.
std::string rest(SSL* ssl) {
  std::string text;
  char piece[4096];
  for (int got = 0; (got = SSL_read(ssl, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

using Party = std::function<void(SSL* ssl)>;

// What the client was answered, by a connection that `origin` has the other end of.
std::string answered(World& world, const Party& prepare, const Party& origin) {
  auto [client_end, client] = pair_of();
  auto [origin_end, server] = pair_of();
  std::string answer;
  std::thread asks([&world, &answer, end = std::move(client_end)] {
    const OwnedStore store = read_store(world.own->certificate());
    const OwnedContext context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set1_cert_store(context.get(), store.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    const OwnedSsl ssl(SSL_new(context.get()));
    static constexpr unsigned char kH1[] = "\x08http/1.1";
    SSL_set_alpn_protos(ssl.get(), kH1, sizeof kH1 - 1);
    SSL_set_tlsext_host_name(ssl.get(), kName);
    SSL_set_fd(ssl.get(), end.get());
    if (SSL_connect(ssl.get()) != 1) return;
    constexpr std::string_view kAsked =
        "GET / HTTP/1.1\r\nHost: own.test\r\nConnection: close\r\n\r\n";
    SSL_write(ssl.get(), kAsked.data(), static_cast<int>(kAsked.size()));
    answer = rest(ssl.get());
  });
  OwnedSsl ssl = world.origin->accept(kName);
  prepare(ssl.get());
  std::thread serves([&origin, end = std::move(origin_end), ssl = std::move(ssl)] {
    SSL_set_fd(ssl.get(), end.get());
    if (SSL_accept(ssl.get()) == 1) origin(ssl.get());
  });
  bool is_over = false;
  auto connection =
      std::make_shared<Connection>(world, Peer{1, kName, 443, false}, std::move(client),
                                   std::move(server), [&](auto, auto) { is_over = true; });
  connection->start();
  for (int i = 0; i < 4000 && !is_over; ++i) world.loop_.step(10);
  EXPECT_TRUE(is_over);
  connection.reset();
  asks.join();
  serves.join();
  return answer;
}

// Whether a program that trusts the authority of `hosts` believes its certificate for `name`.
bool is_believed(const std::vector<const char*>& hosts, const char* name) {
  std::vector<HostRule> rules;
  rules.reserve(hosts.size());
  for (const char* const host : hosts) rules.push_back(*parse_host_rule(host));
  const auto authority = std::move(Authority::make(rules, read_store("").get())).value();
  const OwnedStore store = read_store(authority->certificate());
  const OwnedSsl ssl = authority->accept(name);
  X509_STORE_CTX* const check = X509_STORE_CTX_new();
  X509_STORE_CTX_init(check, store.get(), SSL_get_certificate(ssl.get()), nullptr);
  X509_VERIFY_PARAM* const param = X509_STORE_CTX_get0_param(check);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, name) != 1) X509_VERIFY_PARAM_set1_host(param, name, 0);
  const bool is_good = X509_verify_cert(check) == 1;
  X509_STORE_CTX_free(check);
  return is_good;
}

TEST(Authority, IsBelievedForTheRuledHostsAndNoOthers) {
  for (const char* const address : {"10.77.0.1", "fd77::1"}) {
    const std::string rule = address[0] == '1' ? address : "[" + std::string(address) + "]";
    EXPECT_TRUE(is_believed({rule.c_str()}, address));
    EXPECT_TRUE(is_believed({rule.c_str(), "own.test"}, address));
    EXPECT_TRUE(is_believed({rule.c_str(), "own.test"}, "own.test"));
    EXPECT_FALSE(is_believed({rule.c_str()}, "own.test"));
    EXPECT_FALSE(is_believed({"own.test"}, address));
  }
  EXPECT_FALSE(is_believed({"10.77.0.1"}, "10.77.0.2"));
  EXPECT_TRUE(is_believed({"*.w.test"}, "a.w.test"));
  EXPECT_TRUE(is_believed({"*.w.test"}, "a.b.w.test"));
  for (const char* const other : {"w.test", "aw.test", "own.test"}) {
    EXPECT_FALSE(is_believed({"*.w.test"}, other)) << other;
  }
}

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

void serve(SSL* ssl) {
  char piece[4096];
  if (SSL_read(ssl, piece, sizeof piece) > 0) SSL_write(ssl, kOk.data(), kOk.size());
  SSL_shutdown(ssl);
}

void choose(SSL* ssl, const char* protocol) {
  SSL_CTX_set_alpn_select_cb(
      SSL_get_SSL_CTX(ssl),
      [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char*, unsigned,
         void* chosen) {
        *out = static_cast<const unsigned char*>(chosen);
        *size = static_cast<unsigned char>(strlen(static_cast<const char*>(chosen)));
        return SSL_TLSEXT_ERR_OK;
      },
      const_cast<char*>(protocol));
}

TEST(Connection, AnswersWhatTheOriginAnswers) {
  World world;
  EXPECT_TRUE(answered(
                  world, [](SSL*) {}, serve)
                  .ends_with("\r\n\r\nok"));
  EXPECT_EQ(world.denials, "");
}

TEST(Connection, AnOriginChoosesNoProtocolThatWasNotOffered) {
  for (const char* const protocol : {"h2", "h3", "http/1.0", "spdy/3"}) {
    World world;
    const std::string answer = answered(
        world, [&](SSL* ssl) { choose(ssl, protocol); }, serve);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << protocol << answer;
    EXPECT_NE(world.denials.find("upstream"), std::string::npos);
  }
  World world;
  EXPECT_TRUE(answered(
                  world, [](SSL* ssl) { choose(ssl, "http/1.1"); }, serve)
                  .ends_with("ok"));
}

TEST(Connection, AnOriginDoesNotNegotiateAnew) {
  World world;
  static int hellos = 0;
  const std::string answer = answered(
      world,
      [](SSL* ssl) {
        SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
        SSL_set_info_callback(ssl, [](const SSL* session, int where, int) {
          const bool is_step = (where & SSL_CB_ACCEPT_LOOP) == SSL_CB_ACCEPT_LOOP;
          if (is_step && SSL_get_state(session) == TLS_ST_SR_CLNT_HELLO) ++hellos;
        });
      },
      [&](SSL* ssl) {
        char piece[4096];
        if (SSL_read(ssl, piece, sizeof piece) <= 0) return;
        SSL_clear_options(ssl, SSL_OP_NO_RENEGOTIATION);
        EXPECT_EQ(SSL_renegotiate(ssl), 1);
        SSL_do_handshake(ssl);  // asks for it
        SSL_read(ssl, piece, sizeof piece);
        SSL_write(ssl, kOk.data(), kOk.size());
      });
  EXPECT_EQ(hellos, 1);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
}

TEST(Connection, AnAnswerThatIsCutOffIsNotWhole) {
  World world;
  const std::string answer = answered(
      world, [](SSL*) {},
      [](SSL* ssl) {
        char piece[4096];
        if (SSL_read(ssl, piece, sizeof piece) <= 0) return;
        constexpr std::string_view kPart = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart";
        SSL_write(ssl, kPart.data(), kPart.size());
      });
  EXPECT_TRUE(answer.ends_with("\r\n\r\npart")) << answer;
}

// Without TLS: what the client was answered and what the origin has seen. What the client asks
// first is there from the beginning, as is what an origin says that speaks first; the rest comes
// when the origin has heard of it.
struct Plain {
  std::string answer;
  std::string seen;
};

std::string take(const OwnedFd& end) {
  char piece[4096];
  const ssize_t got = recv(end.get(), piece, sizeof piece, MSG_DONTWAIT);
  return {piece, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

void put(const OwnedFd& end, std::string_view text) {
  EXPECT_EQ(send(end.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

Plain plain(World& world, const std::vector<std::string>& asked, const std::string& said,
            bool speaks_first = false) {
  auto [client_end, client] = pair_of();
  auto [origin_end, server] = pair_of();
  put(client_end, asked[0]);
  if (speaks_first) put(origin_end, said);
  bool is_over = false;
  auto connection =
      std::make_shared<Connection>(world, Peer{1, kName, 80, false}, std::move(client),
                                   std::move(server), [&](auto, auto) { is_over = true; });
  connection->start();
  Plain out;
  const auto go_on = [&, &origin = origin_end, &asker = client_end] {
    for (int quiet = 0; quiet < 3 && !is_over; ++quiet) {
      const std::size_t had = out.seen.size() + out.answer.size();
      world.loop_.step(10);
      out.seen += take(origin);
      out.answer += take(asker);
      if (out.seen.size() + out.answer.size() > had) quiet = 0;
    }
  };
  go_on();
  for (std::size_t part = 1; part < asked.size(); ++part) put(client_end, asked[part]);
  if (!speaks_first && !said.empty()) put(origin_end, said);
  go_on();
  shutdown(client_end.get(), SHUT_WR);
  shutdown(origin_end.get(), SHUT_WR);
  go_on();
  EXPECT_TRUE(is_over);
  out.answer += take(client_end);
  return out;
}

const std::string kAsked = "GET / HTTP/1.1\r\nHost: own.test\r\n";

TEST(Http1, WhatAnOriginSaysBeforeItIsAskedIsNoAnswer) {
  World world;
  EXPECT_TRUE(plain(world, {kAsked + "\r\n"}, std::string(kOk)).answer.ends_with("ok"));
  const Plain first = plain(world, {kAsked + "\r\n"}, std::string(kOk), true);
  EXPECT_EQ(first.answer, "");
  EXPECT_EQ(first.seen, "");
}

TEST(Http1, ABodyThatTurnsOutToBeNoneIsNotEndedForTheOrigin) {
  World world;
  const std::string begun =
      "POST / HTTP/1.1\r\nHost: own.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
  const Plain good = plain(world, {begun, "0\r\n\r\n"}, std::string(kOk));
  EXPECT_TRUE(good.seen.ends_with("3\r\nabc\r\n0\r\n\r\n")) << good.seen;
  const Plain bad = plain(world, {begun, "zz\r\n"}, "");
  EXPECT_TRUE(bad.answer.starts_with("HTTP/1.1 400 ")) << bad.answer;
  EXPECT_TRUE(bad.seen.ends_with("3\r\nabc\r\n")) << bad.seen;
}

const std::string kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string kAccept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

TEST(Http1, AWebSocketIsWhatTheOriginAgreesTo) {
  const auto answer = [](const std::string& fields) {
    World world;
    return plain(world, {kAsked + kUpgrade + "\r\n"},
                 "HTTP/1.1 101 Switching Protocols\r\n" + fields + "\r\n")
        .answer;
  };
  const std::string upgrade = "Upgrade: websocket\r\n";
  const std::string connection = "Connection: upgrade\r\n";
  EXPECT_TRUE(answer(upgrade + connection + kAccept).starts_with("HTTP/1.1 101 "));
  for (const std::string& fields :
       {upgrade + connection, connection + kAccept, upgrade + kAccept,
        "Upgrade: h2c\r\n" + connection + kAccept,
        upgrade + connection + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n"}) {
    EXPECT_TRUE(answer(fields).starts_with("HTTP/1.1 502 ")) << fields;
  }
}

TEST(Http1, NothingElseIsOfferedAsAWebSocket) {
  const std::string version = "HTTP/1.1\r\nHost: own.test\r\n";
  const std::string keyless = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  for (const std::string& request :
       {"POST / " + version + kUpgrade + "\r\n", "GET / " + version + keyless + "\r\n",
        "GET / " + version + kUpgrade + "Content-Length: 2\r\n\r\nok",
        "GET / HTTP/1.0\r\nHost: own.test\r\n" + kUpgrade + "\r\n"}) {
    World world;
    const Plain got = plain(world, {request}, std::string(kOk));
    EXPECT_TRUE(got.answer.ends_with("ok")) << request;
    EXPECT_EQ(got.seen.find("websocket"), std::string::npos) << got.seen;
  }
}

}  // namespace
}  // namespace sbx::http
