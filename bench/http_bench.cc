// SPDX-License-Identifier: Apache-2.0
// The parts that http_bench.py puts together, by its first argument; each connection is a process
// of its own, and blocks.
//   origin CERT KEY PORT: answers GET with "ok", GET /big with 1 GiB, over TLS.
//   proxy CERT KEY PORT TO CA NAME: ends TLS and makes it anew to 127.0.0.1:TO, by the library of
//     sbx-http, without reading what it passes on.
//   client ADDRESS PORT NAME CA PATH COUNT CONNECTIONS: COUNT requests on each connection, which is
//     kept; prints seconds, microseconds of the median request, and its own seconds of CPU.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBig = std::size_t{1} << 30;
constexpr std::size_t kBlock = std::size_t{16} << 10;

[[noreturn]] void fail(const char* what) {
  ERR_print_errors_fp(stderr);
  std::perror(what);
  std::_Exit(1);
}
void need(bool holds, const char* what) {
  if (!holds) fail(what);
}

sockaddr_in address_of(const char* address, const char* port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  need(inet_pton(AF_INET, address, &to.sin_addr) == 1, address);
  return to;
}

int connected(const char* address, const char* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = address_of(address, port);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  need(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "connect");
  return fd;
}

SSL_CTX* server_context(const char* cert, const char* key) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  need(SSL_CTX_use_certificate_chain_file(context, cert) == 1, cert);
  need(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1, key);
  return context;
}

SSL* client_of(const char* authorities, const char* name, int fd) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  need(SSL_CTX_load_verify_file(context, authorities) == 1, authorities);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL* const ssl = SSL_new(context);
  SSL_set_tlsext_host_name(ssl, name);
  SSL_set1_host(ssl, name);
  SSL_set_fd(ssl, fd);
  need(SSL_connect(ssl) == 1, "SSL_connect");
  return ssl;
}

template <typename Serve>
[[noreturn]] void listen_for(const char* port, SSL_CTX* context, Serve serve) {
  signal(SIGCHLD, SIG_IGN);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in here = address_of("0.0.0.0", port);
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  need(bind(listener, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0, "bind");
  need(listen(listener, 1024) == 0, "listen");
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (fork() == 0) {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      SSL* const ssl = SSL_new(context);
      SSL_set_fd(ssl, fd);
      if (SSL_accept(ssl) == 1) serve(ssl);
      std::_Exit(0);
    }
    close(fd);
  }
}

void answer(SSL* ssl) {
  std::string in;
  const std::vector<char> block(kBlock, 'x');
  for (;;) {
    std::size_t end = in.find("\r\n\r\n");
    if (end == std::string::npos) {
      char piece[4096];
      const int got = SSL_read(ssl, piece, sizeof piece);
      if (got <= 0) return;
      in.append(piece, static_cast<std::size_t>(got));
      continue;
    }
    const bool is_big = in.starts_with("GET /big ");
    in.erase(0, end + 4);
    const std::string head =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(is_big ? kBig : 2) + "\r\n\r\n" +
        (is_big ? "" : "ok");
    SSL_write(ssl, head.data(), static_cast<int>(head.size()));
    for (std::size_t sent = 0; is_big && sent < kBig; sent += block.size()) {
      if (SSL_write(ssl, block.data(), static_cast<int>(block.size())) <= 0) return;
    }
  }
}

bool move_once(SSL* from, SSL* to) {
  char block[kBlock];
  do {
    const int got = SSL_read(from, block, sizeof block);
    if (got <= 0) return SSL_get_error(from, got) == SSL_ERROR_WANT_READ;
    if (SSL_write(to, block, got) != got) return false;
  } while (SSL_pending(from) > 0);
  return true;
}

void pass_on(SSL* client, const char* port, const char* authorities, const char* name) {
  SSL* const server = client_of(authorities, name, connected("127.0.0.1", port));
  // A record that holds no data, such as a ticket, is no reason to wait for one that does.
  SSL_clear_mode(client, SSL_MODE_AUTO_RETRY);
  SSL_clear_mode(server, SSL_MODE_AUTO_RETRY);
  pollfd ready[2] = {{SSL_get_fd(client), POLLIN, 0}, {SSL_get_fd(server), POLLIN, 0}};
  while (poll(ready, 2, -1) > 0) {
    if (ready[0].revents != 0 && !move_once(client, server)) return;
    if (ready[1].revents != 0 && !move_once(server, client)) return;
  }
}

// One request after the other; the body is read to its end. Microseconds of each.
std::vector<double> ask(SSL* ssl, const std::string& request, int count) {
  std::vector<double> each;
  std::vector<char> block(kBlock);
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    need(SSL_write(ssl, request.data(), static_cast<int>(request.size())) > 0, "SSL_write");
    std::string head;
    std::size_t end = std::string::npos;
    while (end == std::string::npos) {
      const int got = SSL_read(ssl, block.data(), static_cast<int>(block.size()));
      need(got > 0, "SSL_read");
      head.append(block.data(), static_cast<std::size_t>(got));
      end = head.find("\r\n\r\n");
    }
    need(head.starts_with("HTTP/1.1 200 "), head.c_str());
    const std::size_t length = std::strtoull(
        head.c_str() + head.find("Content-Length: ") + sizeof("Content-Length: ") - 1, nullptr, 10);
    for (std::size_t left = length - (head.size() - end - 4); left > 0;) {
      const int got = SSL_read(ssl, block.data(), static_cast<int>(block.size()));
      need(got > 0, "SSL_read");
      left -= static_cast<std::size_t>(got);
    }
    each.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return each;
}

int run_client(char** words) {
  const std::string request = std::string("GET ") + words[4] + " HTTP/1.1\r\nHost: " + words[2] +
                              ":" + words[1] + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
  const int count = std::atoi(words[5]);
  const int connections = std::atoi(words[6]);
  std::vector<SSL*> all;
  for (int i = 0; i < connections; ++i) {
    all.push_back(client_of(words[3], words[2], connected(words[0], words[1])));
    ask(all.back(), std::string(request).replace(4, std::string(words[4]).size(), "/x"), 1);
  }
  const auto begin = Clock::now();
  for (int i = 1; i < connections; ++i) {
    if (fork() != 0) continue;
    ask(all[static_cast<std::size_t>(i)], request, count);
    std::_Exit(0);
  }
  std::vector<double> each = ask(all[0], request, count);
  while (wait(nullptr) > 0) {
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::sort(each.begin(), each.end());
  double cpu = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      cpu += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) / 1e6;
    }
  }
  std::printf("%.6f %.1f %.6f\n", seconds, each[each.size() / 2], cpu);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  signal(SIGPIPE, SIG_IGN);
  const std::string part = count > 1 ? words[1] : "";
  if (part == "origin" && count == 5) {
    listen_for(words[4], server_context(words[2], words[3]), answer);
  }
  if (part == "proxy" && count == 8) {
    listen_for(words[4], server_context(words[2], words[3]),
               [&](SSL* client) { pass_on(client, words[5], words[6], words[7]); });
  }
  if (part == "client" && count == 9) return run_client(words + 2);
  std::fprintf(stderr, "http_bench is run by http_bench.py\n");
  return 2;
}
