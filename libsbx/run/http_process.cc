// SPDX-License-Identifier: Apache-2.0
// Messages are words with a NUL between them, the first of one letter (http/control.h has them
// all); descriptors go along. Nothing here waits but the first start, for the sources of
// credentials.
#include "run/http_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/start_program.h"
#include "base/text.h"
#include "launch/descriptors.h"
#include "profile/decode.h"

namespace sbx {
namespace {

constexpr std::size_t kMostMessage = std::size_t{64} << 10;
constexpr std::size_t kMostFds = 3;
constexpr std::size_t kMostBundle = std::size_t{8} << 20;
constexpr std::chrono::seconds kLongestSource{12};  // sbx-http gives a command ten
constexpr std::chrono::seconds kLongestRenewal{10};
constexpr const char* kName = "sbx-http";

Error failed(const char* call) {
  const int error = errno;
  return Error{ErrorCode::kSetupFailed, std::string(kName) + ": " + call + ": " + errno_text(error),
               call, "", error};
}

Result<OwnedFd> memory_file(const char* name) {
  OwnedFd fd(memfd_create(name, MFD_CLOEXEC));
  if (fd.is_open()) return fd;
  return failed("memfd_create");
}

bool write_whole(int fd, const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t count = write(fd, text, size);
    if (count <= 0) return false;
    text += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// The compiler must not find out that nobody reads it any more.
void wipe(char* text, std::size_t size) { explicit_bzero(text, size); }

// PID 1 is a copy of this process: what the command must not have must not be here either.
void forget(const std::string& name, Environment& inherited) {
  if (const auto found = inherited.find(name); found != inherited.end()) {
    wipe(found->second.data(), found->second.size());
    inherited.erase(found);
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::size_t size = name.size();
    if (std::strncmp(*entry, name.c_str(), size) == 0 && (*entry)[size] == '=') {
      wipe(*entry + size + 1, std::strlen(*entry + size + 1));
    }
  }
}

// Straight from where they are: no copy is left behind.
Status write_environment(int fd, const Environment& inherited) {
  for (const auto& [name, value] : inherited) {
    if (!write_whole(fd, name.data(), name.size()) || !write_whole(fd, "=", 1) ||
        !write_whole(fd, value.c_str(), value.size() + 1)) {
      return failed("write");
    }
  }
  return {};
}

// Where systems have their bundle of authorities, without symlinks; the first one where none is.
std::string find_bundle() {
  static constexpr const char* kFirst = "/etc/ssl/certs/ca-certificates.crt";
  for (const char* const path : {kFirst, "/etc/pki/tls/certs/ca-bundle.crt",
                                 "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    Result<std::string> real = real_path(path);
    if (real.ok()) return std::move(real).value();
  }
  return kFirst;
}

std::uint64_t number_of(std::string_view word) {
  return static_cast<std::uint64_t>(parse_count(word, INT64_MAX).value_or(0));
}

}  // namespace

std::string_view HttpQuestion::path() const {
  const std::size_t host_at = url.find("://") + 3;
  return std::string_view(url).substr(std::min(url.find('/', host_at), url.size()));
}

std::string_view HttpQuestion::host() const {
  const std::size_t at = url.find("://") + 3;
  return std::string_view(url).substr(at, url.size() - path().size() - at);
}

Result<std::shared_ptr<HttpProcess>> HttpProcess::start(const SandboxPolicy& policy,
                                                        Environment& inherited) {
  std::shared_ptr<HttpProcess> made(new HttpProcess());
  made->trust_path = find_bundle();
  const std::string text = network_to_json(policy.network);
  SBX_TRY(made->rules_, memory_file("sbx-http-rules"));
  if (!write_whole(made->rules_.get(), text.data(), text.size())) return failed("write");
  SBX_TRY(made->environ_, memory_file("sbx-http-environ"));
  SBX_CHECK_OK(write_environment(made->environ_.get(), inherited));
  SBX_TRY(made->state_, memory_file("sbx-http-state"));
  for (const HttpRule& rule : policy.network.http) {
    if (auto host = parse_host_rule(rule.host)) made->hosts_.push_back(std::move(*host));
  }
  for (const Credential& credential : policy.network.credentials) {
    if (auto host = parse_host_rule(credential.host)) made->hosts_.push_back(std::move(*host));
    made->commands_.push_back(credential.from.command.value_or(std::vector<std::string>()));
  }
  SBX_CHECK_OK(made->launch());
  SBX_CHECK_OK(made->await_ready());
  for (const Credential& credential : policy.network.credentials) {
    if (credential.from.env) forget(*credential.from.env, inherited);
  }
  for (const std::string& name : made->dropped) forget(name, inherited);
  return made;
}

HttpProcess::~HttpProcess() { end(); }

void HttpProcess::end() {
  reap_renewals(Clock::time_point::max());
  lose();
}

// Its descriptors: none but its end of the control socket, as 3.
Status HttpProcess::launch() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  control_.reset(ends[0]);
  const OwnedFd theirs(ends[1]);
  fcntl(control_.get(), F_SETFL, O_NONBLOCK);
  SBX_TRY(pid_, start_companion(kName, theirs.get()));
  ++generation_;
  unanswered_ = 0;
  if (!send({"S", trust_path, std::to_string(getpid())},
            {rules_.get(), environ_.get(), state_.get()})) {
    return failed("sendmsg");
  }
  return {};
}

Status HttpProcess::await_ready() {
  const auto sources = static_cast<std::int64_t>(commands_.size() + 1);
  const auto until = Clock::now() + sources * kLongestSource;
  for (;;) {
    pollfd ready{control_.get(), POLLIN, 0};
    if (poll(&ready, 1, Loop::wait_ms(until)) <= 0 && errno != EINTR) break;
    std::string text(kMostMessage, '\0');
    FdMessage<kMostFds> message(text.data(), text.size());
    const ssize_t size = message.receive(control_.get());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size <= 0) break;
    text.resize(static_cast<std::size_t>(size));
    int fds[kMostFds];
    const std::size_t count = message.take(fds);
    std::array<OwnedFd, kMostFds> owned;
    for (std::size_t i = 0; i < count; ++i) owned[i].reset(fds[i]);
    const std::vector<std::string_view> words = split(text, '\0');
    if (words[0] == "E" && words.size() == 4) {
      return Error{words[1].empty() ? ErrorCode::kSetupFailed : ErrorCode::kBadValue,
                   std::string(words[2]), std::string(words[1]), std::string(words[3])};
    }
    if (words[0] != "R" || words.size() < 3 || count < 1) break;
    const std::size_t credentials = std::min(number_of(words[2]), (words.size() - 3) / 2);
    std::size_t at = 3;
    for (std::size_t i = 0; i < credentials; ++i, at += 2) {
      placeholders[std::string(words[at])] = words[at + 1];
    }
    for (; at < words.size(); ++at) dropped.emplace_back(words[at]);
    lseek(owned[0].get(), 0, SEEK_SET);
    SBX_TRY(trust_bundle, read_up_to(owned[0].get(), 2 * kMostBundle));
    const std::size_t bundle = std::min(number_of(words[1]), trust_bundle.size());
    java_store = trust_bundle.substr(bundle);
    trust_bundle.resize(bundle);
    return {};
  }
  lose();
  return Error{ErrorCode::kSetupFailed, "sbx-http has not become ready", kName,
               "look whether it lies beside sbx-run and is of the same version"};
}

bool HttpProcess::send(const Words& words, const std::vector<int>& fds) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += '\0';
    text += words[i];
  }
  FdMessage<kMostFds> message(text.data(), text.size());
  return message.send(control_.get(), fds.data(), fds.size()) >= 0;
}

bool HttpProcess::covers(std::string_view name, int port) const {
  const auto address = parse_ip(name);
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const HostRule& host) {
    if (host.port ? *host.port != port : port != 80 && port != 443) return false;
    if (host.kind == HostRule::Kind::kNetwork) return address && *address == host.network;
    if (host.kind == HostRule::Kind::kName) return host.name == name;
    return name.ends_with("." + host.name);
  });
}

bool HttpProcess::covers_name(std::string_view name) const {
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const HostRule& host) {
    if (host.kind == HostRule::Kind::kWildcard) return name.ends_with("." + host.name);
    return host.name == name;
  });
}

bool HttpProcess::send_pair(std::uint32_t id, const Held& held) {
  return send({"C", std::to_string(id), held.pair.name, std::to_string(held.pair.port)},
              {held.pair.client.get(), held.pair.server.get()});
}

bool HttpProcess::hand_over(HttpPair pair, std::weak_ptr<HttpSink> sink) {
  if (pid_ < 0) look_after();
  const std::uint32_t id = next_id_++;
  Held& held = connections_[id];
  held.pair = std::move(pair);
  held.sink = std::move(sink);
  if (send_pair(id, held)) return true;
  if (errno == EPIPE || errno == ECONNRESET) {
    look_after();  // the new one is given what the old one did not take
    if (pid_ >= 0) return true;
  }
  connections_.erase(id);
  return false;
}

void HttpProcess::watch_in(Loop& loop, Loop::Watch& watch) {
  watch.stop();
  if (!control_.is_open()) return;
  watch = loop.watch(control_.get(), EPOLLIN, [this, &watch](std::uint32_t) {
    const std::uint64_t before = generation_;
    take_reports();
    if (generation_ != before || pid_ < 0) watch.stop();
  });
}

void HttpProcess::take_reports() {
  constexpr int kMostAtOnce = 1024;
  for (int i = 0; i < kMostAtOnce && control_.is_open(); ++i) {
    if (!take_report()) return;
  }
}

bool HttpProcess::take_report() {
  std::string text(kMostMessage, '\0');
  const ssize_t size = recv(control_.get(), text.data(), text.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    lose();
    return false;
  }
  text.resize(static_cast<std::size_t>(size));
  Words words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  unanswered_ = 0;
  handle(words);
  return true;
}

void HttpProcess::handle(const Words& words) {
  const std::string& kind = words[0];
  if (words.size() < 2) return;
  const std::uint64_t id = number_of(words[1]);
  if (kind == "V") return renew(id);
  if (kind == "A" && words.size() == 6) {
    if (!ask_ || !ask_(id, {words[2], words[3], words[4], words[5]})) answer(id, false);
    return;
  }
  const auto found = connections_.find(static_cast<std::uint32_t>(id));
  if (found == connections_.end()) return;
  if (kind == "T") {
    found->second.pair.client.reset();
    found->second.pair.server.reset();
    return;
  }
  const std::shared_ptr<HttpSink> sink = found->second.sink.lock();
  if (kind == "Z") connections_.erase(found);
  if (sink == nullptr) return;
  if (kind == "Z" && words.size() == 4) {
    sink->on_end(number_of(words[2]), number_of(words[3]));
  } else if (kind == "D" && words.size() == 5) {
    sink->on_denial({"network", words[2], words[3], 1, "", words[4]});
  } else if (kind == "X" && words.size() == 11) {
    HttpExchange exchange{static_cast<std::int64_t>(number_of(words[3])),
                          words[4],
                          words[5],
                          words[6],
                          static_cast<int>(number_of(words[7])),
                          number_of(words[8]),
                          number_of(words[9]),
                          words[10]};
    sink->on_exchange(number_of(words[2]), std::move(exchange));
  }
}

void HttpProcess::answer(std::uint64_t id, bool is_allowed) {
  if (pid_ >= 0) send({"Q", std::to_string(id), is_allowed ? "1" : "0"});
}

// The operator's side runs it, and only sbx-http reads what it prints.
void HttpProcess::renew(std::size_t index) {
  int ends[2];
  if (index >= commands_.size() || commands_[index].empty() || pipe2(ends, O_CLOEXEC) != 0) return;
  const OwnedFd output(ends[0]);
  const OwnedFd input(ends[1]);
  const Result<pid_t> pid =
      start_program({.arguments = commands_[index], .environment = environ, .output = input.get()});
  if (pid.ok()) renewing_.push_back({pid.value(), Clock::now() + kLongestRenewal});
  send({"V", std::to_string(index)}, {output.get()});
}

// Those that have ended, and an end to those that have had their time.
void HttpProcess::reap_renewals(Clock::time_point now) {
  std::erase_if(renewing_, [now](const Renewal& each) {
    if (waitpid(each.pid, nullptr, WNOHANG) != 0) return true;
    if (now < each.until) return false;
    kill(-each.pid, SIGKILL);
    waitpid(each.pid, nullptr, 0);
    return true;
  });
}

void HttpProcess::look_after() {
  constexpr int kMostUnanswered = 2;
  reap_renewals(Clock::now());
  take_reports();
  if (pid_ >= 0 && unanswered_ >= kMostUnanswered) lose();
  if (pid_ >= 0) {
    ++unanswered_;
    if (send({"P", "0"}) || errno == EAGAIN) return;
    lose();
  }
  if (!launch().ok()) return lose();
  for (const auto& [id, held] : connections_) static_cast<void>(send_pair(id, held));
}

// What it had taken is refused with it; the rest waits for the next one.
void HttpProcess::lose() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  control_.reset();
  ++generation_;
  std::vector<std::shared_ptr<HttpSink>> ended;
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (it->second.pair.client.is_open()) {
      ++it;
      continue;
    }
    if (auto sink = it->second.sink.lock()) ended.push_back(std::move(sink));
    it = connections_.erase(it);
  }
  for (const auto& sink : ended) sink->on_end(0, 0);
}

}  // namespace sbx
