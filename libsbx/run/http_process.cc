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
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/pointers.h"
#include "base/sha256.h"
#include "base/start_program.h"
#include "base/text.h"
#include "launch/descriptors.h"
#include "profile/decode.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kMostMessage = std::size_t{64} << 10;
constexpr std::size_t kMostFds = 3;
constexpr std::chrono::seconds kLongestSource{12};  // sbx-http gives a command ten
constexpr std::chrono::seconds kLongestRenewal{10};
constexpr std::chrono::seconds kLookEvery{5};
constexpr const char* kName = "sbx-http";
constexpr int kQuestionBits = 40;  // of a question's number: the process's own, below how many were

Error failed(const char* call) {
  return call_failed(ErrorCode::kSetupFailed, std::string(kName) + ": " + call, call);
}

Result<OwnedFd> memory_file(const char* name) {
  OwnedFd fd(memfd_create(name, MFD_CLOEXEC));
  if (fd.is_open()) return fd;
  return failed("memfd_create");
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
template <typename Variables>
Status write_variables(int fd, const Variables& variables) {
  for (const auto& [name, value] : variables) {
    if (!write_all(fd, name) || !write_all(fd, "=") ||
        !write_all(fd, {value.c_str(), value.size() + 1})) {
      return failed("write");
    }
  }
  return {};
}

std::string digest_of(const std::map<std::string, std::string>& variables) {
  Sha256 sum;
  for (const auto& [name, value] : variables) {
    sum.add({name.c_str(), name.size() + 1});
    sum.add({value.c_str(), value.size() + 1});
  }
  return sum.hex();
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

std::vector<std::string> values_in_files(const std::vector<Credential>& credentials) {
  std::vector<std::string> values;
  for (const Credential& each : credentials) {
    if (!each.from.file) continue;
    Result<std::string> text = read_file(*each.from.file, kMostSecret + 1);
    if (!text.ok()) continue;
    if (text.value().ends_with('\n')) text.value().pop_back();
    values.push_back(std::move(text).value());
  }
  return values;
}

std::string_view HttpQuestion::path() const {
  const std::size_t host_at = url.find("://") + 3;
  return std::string_view(url).substr(std::min(url.find('/', host_at), url.size()));
}

std::string_view HttpQuestion::host() const {
  const std::size_t at = url.find("://") + 3;
  return std::string_view(url).substr(at, url.size() - path().size() - at);
}

HttpPolicy::HttpPolicy(HttpProcess& process, std::size_t number, const NetworkProfile& network)
    : process_(process), number_(number) {
  for (const HttpRule& rule : network.http) {
    hosts_.push_back(rule.host);
  }
  for (const Credential& credential : network.credentials) {
    hosts_.push_back(credential.host);
  }
}

bool HttpPolicy::covers(std::string_view name, int port) const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [&](const HostRule& host) { return covers_host(host, name, port); });
}

bool HttpPolicy::covers_name(std::string_view name) const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [&](const HostRule& host) { return sbx::covers_name(host, name); });
}

std::vector<HostRule> HttpPolicy::hosts_at(int port) const {
  std::vector<HostRule> found;
  std::copy_if(hosts_.begin(), hosts_.end(), std::back_inserter(found),
               [port](const HostRule& host) { return covers_port(host, port); });
  return found;
}

std::uint32_t HttpPolicy::hand_over(HttpPair pair, std::weak_ptr<HttpSink> sink) {
  return process_.hand_over(number_, std::move(pair), std::move(sink));
}

void HttpPolicy::refuse_more(std::uint32_t number) { process_.tell_when_it_takes("W", number); }

void HttpPolicy::finish(std::uint32_t number) { process_.tell_when_it_takes("F", number); }

// --- policies ---

// The environment is that of the session's start: what a policy takes out of it, a later one may
// have as its source as well.
Status HttpProcess::open(const Environment& inherited) {
  if (environ_.is_open()) return {};
  trust_path_ = find_bundle();
  SBX_CHECK_OK(loop_.open());
  SBX_TRY(OwnedFd file, memory_file("sbx-http-environ"));
  SBX_CHECK_OK(write_variables(file.get(), inherited));
  environ_ = std::move(file);
  return {};
}

Result<std::shared_ptr<HttpPolicy>> HttpProcess::policy_for(
    const NetworkProfile& network, const std::map<std::string, std::string>& set,
    const std::string& search_path, Environment& inherited) {
  NetworkProfile read;  // what sbx-http reads of it
  read.http = network.http;
  read.credentials = network.credentials;
  Known made;
  const std::string text = network_to_json(read);
  made.sha256 = sha256_hex(text) + digest_of(set);
  for (const Known& each : policies_) {
    if (each.sha256 == made.sha256) return each.policy;
  }
  if (!environ_.is_open()) {
    search_path_ = search_path;
    Environment own = inherited;
    own["PATH"] = search_path;
    SBX_CHECK_OK(open(own));
  }
  made.policy = std::make_shared<HttpPolicy>(*this, policies_.size(), network);
  for (const Credential& each : network.credentials) {
    made.commands.push_back(each.from.command.value_or(std::vector<std::string>()));
  }
  made.policy->trust_path = trust_path_;
  SBX_TRY(made.rules, memory_file("sbx-http-rules"));
  if (!write_all(made.rules.get(), {text.c_str(), text.size() + 1})) return failed("write");
  SBX_CHECK_OK(write_variables(made.rules.get(), set));
  SBX_TRY(made.state, memory_file("sbx-http-state"));
  SBX_TRY(Child child, start_with(made));
  const Status ready = await_ready(child, made);
  if (!ready.ok()) {
    child.end();
    return ready.error();
  }
  for (const Credential& credential : network.credentials) {
    if (credential.from.env) forget(*credential.from.env, inherited);
  }
  for (const std::string& name : made.policy->dropped) forget(name, inherited);
  policies_.push_back(std::move(made));
  if (policies_.size() == 1) {
    SBX_CHECK_OK(serve_by(std::move(child)));
  } else {
    // It has read the sources, which the one that serves cannot any more.
    child.end();
    if (child_.pid >= 0 && !tell_policy(policies_.size() - 1)) lose();
  }
  return policies_.back().policy;
}

void HttpProcess::end() {
  reap_renewals(Clock::time_point::max());
  lose();
}

// Its descriptors: none but its end of the control socket, as 3.
Result<HttpProcess::Child> HttpProcess::start_with(const Known& known) const {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  Child child;
  child.control.reset(ends[0]);
  const OwnedFd theirs(ends[1]);
  fcntl(child.control.get(), F_SETFL, O_NONBLOCK);
  SBX_TRY(child.pid, start_companion(kName, theirs.get()));
  if (child.send({"S", trust_path_, std::to_string(getpid())},
                 {known.rules.get(), environ_.get(), known.state.get()})) {
    return child;
  }
  const Error error = failed("sendmsg");
  child.end();
  return error;
}

Status HttpProcess::await_ready(const Child& child, Known& known) {
  const auto sources = static_cast<std::int64_t>(known.commands.size() + 1);
  const auto until = Clock::now() + sources * kLongestSource;
  for (;;) {
    pollfd ready{child.control.get(), POLLIN, 0};
    if (poll(&ready, 1, Loop::wait_ms(until)) <= 0 && errno != EINTR) break;
    std::string text(kMostMessage, '\0');
    FdMessage<kMostFds> message(text.data(), text.size());
    const ssize_t size = message.receive(child.control.get());
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
    HttpPolicy& shown = *known.policy;
    const std::size_t credentials = std::min(number_of(words[2]), (words.size() - 3) / 2);
    std::size_t at = 3;
    for (std::size_t i = 0; i < credentials; ++i, at += 2) {
      shown.placeholders[std::string(words[at])] = words[at + 1];
    }
    for (; at < words.size(); ++at) shown.dropped.emplace_back(words[at]);
    lseek(owned[0].get(), 0, SEEK_SET);
    SBX_TRY(shown.trust_bundle, read_up_to(owned[0].get(), 4 * kMostBundle));
    const std::size_t bundle = std::min(number_of(words[1]), shown.trust_bundle.size());
    shown.java_store = shown.trust_bundle.substr(bundle);
    shown.trust_bundle.resize(bundle);
    return {};
  }
  return Error{ErrorCode::kSetupFailed, "sbx-http has not become ready", kName,
               "look whether it lies beside sbx-run and is of the same version"};
}

// --- the process ---

bool HttpProcess::Child::send(std::initializer_list<std::string_view> words,
                              std::initializer_list<int> fds) const {
  std::string text;
  for (const std::string_view word : words) {
    text += word;
    text += '\0';
  }
  FdMessage<kMostFds> message(text.data(), text.size() - 1);
  return message.send(control.get(), fds.begin(), fds.size()) >= 0;
}

void HttpProcess::Child::end() {
  if (pid > 0) {
    kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid = -1;
  control.reset();
}

Status HttpProcess::serve_by(Child child) {
  child_ = std::move(child);
  unanswered_ = 0;
  watch_ = loop_.watch(child_.control.get(), EPOLLIN, [this](std::uint32_t) { pause(); });
  if (!watch_.is_on()) return failed("epoll_ctl");
  look_ = loop_.after(kLookEvery, [this] { look(); });
  return {};
}

bool HttpProcess::tell_policy(std::size_t number) const {
  const Known& known = policies_[number];
  return child_.send({"N", std::to_string(number)}, {known.rules.get(), known.state.get()});
}

bool HttpProcess::send_pair(std::uint32_t id, const Held& held) const {
  return child_.send({"C", std::to_string(id), std::to_string(held.policy), held.pair.name,
                      std::to_string(held.pair.port)},
                     {held.pair.client.get(), held.pair.server.get()});
}

std::uint32_t HttpProcess::hand_over(std::size_t policy, HttpPair pair,
                                     std::weak_ptr<HttpSink> sink) {
  if (child_.pid < 0) revive();
  const std::uint32_t id = next_id_++;
  Held& held = connections_[id];
  held = {policy, std::move(pair), std::move(sink)};
  if (send_pair(id, held)) return id;
  if (errno == EPIPE || errno == ECONNRESET) {
    lose();
    revive();  // the new one is given what the old one did not take
    if (child_.pid >= 0) return id;
  }
  connections_.erase(id);
  return 0;
}

void HttpProcess::tell_when_it_takes(const char* what, std::uint32_t id) {
  untold_.emplace_back(what, id);
  tell_rest();
}

// The rest when it has taken some, which its reports tell.
void HttpProcess::tell_rest() {
  while (!untold_.empty() &&
         child_.send({untold_.front().first, std::to_string(untold_.front().second)})) {
    untold_.pop_front();
  }
}

void HttpProcess::take_reports() {
  constexpr int kMostAtOnce = 1024;
  for (int i = 0; i < kMostAtOnce && child_.control.is_open(); ++i) {
    if (!take_report()) break;
  }
  tell_rest();
}

// A busy one would wake this process for every request: what comes in the next moments is taken
// together. Its end is told at once all the same.
void HttpProcess::pause() {
  constexpr auto kPause = std::chrono::milliseconds(2);
  take_reports();
  if (!watch_.is_on()) return;
  watch_.want(0);
  pause_ = loop_.after(kPause, [this] { watch_.want(EPOLLIN); });
}

bool HttpProcess::take_report() {
  std::string text(kMostMessage, '\0');
  const ssize_t size = recv(child_.control.get(), text.data(), text.size(), MSG_DONTWAIT);
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
  if (kind == "V" && words.size() == 3) return renew(id, number_of(words[2]));
  if (kind == "B") return static_cast<void>(questions_.erase(lost_ << kQuestionBits | id));
  const auto found = connections_.find(static_cast<std::uint32_t>(id));
  if (found == connections_.end()) return;
  if (kind == "T") {
    found->second.pair.client.reset();
    found->second.pair.server.reset();
    return;
  }
  if (kind == "A" && words.size() == 7) return ask(found->second.pair.run, words);
  const std::shared_ptr<HttpSink> sink = found->second.sink.lock();
  const bool is_taken = !found->second.pair.client.is_open();
  if (kind == "Z") connections_.erase(found);
  if (sink == nullptr) return;
  if (kind == "Z" && !is_taken) return sink->on_refusal();
  if (kind == "Z" && words.size() == 4) {
    sink->on_end(number_of(words[2]), number_of(words[3]));
  } else if (kind == "D" && words.size() == 5) {
    sink->on_denial({Refuser::kNetwork, words[2], words[3], 1, "", words[4]});
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

// One run cannot take the place of all others' questions.
void HttpProcess::ask(const void* run, const Words& words) {
  constexpr std::size_t kMostQuestions = 256;
  constexpr std::ptrdiff_t kMostOfRun = 64;
  const bool has_room =
      questions_.size() < kMostQuestions &&
      std::count_if(questions_.begin(), questions_.end(),
                    [run](const auto& each) { return each.second == run; }) < kMostOfRun;
  const std::uint64_t number = lost_ << kQuestionBits | number_of(words[2]);
  questions_[number] = run;
  const HttpQuestion question{words[3], words[4], words[5], words[6]};
  if (!has_room || !ask_ || !ask_(number, question)) answer(number, false);
}

bool HttpProcess::answer(std::uint64_t number, bool is_allowed) {
  const std::uint64_t own = number & ((std::uint64_t{1} << kQuestionBits) - 1);
  return is_asked(number) && child_.send({"Q", std::to_string(own), is_allowed ? "1" : "0"}) &&
         questions_.erase(number) > 0;
}

// The operator's side runs it, and only sbx-http reads what it prints.
void HttpProcess::renew(std::size_t policy, std::size_t index) {
  if (policy >= policies_.size()) return;
  const auto& commands = policies_[policy].commands;
  int ends[2];
  if (index >= commands.size() || commands[index].empty() || pipe2(ends, O_CLOEXEC) != 0) return;
  const OwnedFd input(ends[1]);
  Renewal renewal{policy, index, -1, Clock::now() + kLongestRenewal, OwnedFd(ends[0]), {}, {}};
  std::vector<std::string> environment = {"PATH=" + search_path_};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("PATH=")) environment.emplace_back(*entry);
  }
  const Result<pid_t> pid = start_program({.arguments = commands[index],
                                           .environment = pointers(environment).data(),
                                           .output = input.get(),
                                           .directory = "/"});
  if (!pid.ok()) return tell_renewed(renewal, false);
  renewal.pid = pid.value();
  renewal.pidfd.reset(sys::pidfd_open(renewal.pid, 0));
  renewal.ended = loop_.watch(renewal.pidfd.get(), EPOLLIN,
                              [this](std::uint32_t) { reap_renewals(Clock::now()); });
  renewing_.push_back(std::move(renewal));
}

void HttpProcess::tell_renewed(const Renewal& renewal, bool is_good) const {
  child_.send(
      {"V", std::to_string(renewal.policy), std::to_string(renewal.index), is_good ? "1" : "0"},
      {renewal.output.get()});
}

// Those that have ended, and an end to those that have had their time: for these sbx-http does not
// wait any more.
void HttpProcess::reap_renewals(Clock::time_point now) {
  std::erase_if(renewing_, [this, now](const Renewal& each) {
    int status = 0;
    const pid_t ended = waitpid(each.pid, &status, WNOHANG);
    if (ended != 0) {
      tell_renewed(each, ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
      return true;
    }
    if (now < each.until) return false;
    kill(-each.pid, SIGKILL);
    waitpid(each.pid, nullptr, 0);
    return true;
  });
}

// One that has stopped answering is told from one that has nothing to do by asking it.
void HttpProcess::look() {
  constexpr int kMostUnanswered = 2;
  look_ = loop_.after(kLookEvery, [this] { look(); });
  reap_renewals(Clock::now());
  take_reports();
  if (child_.pid >= 0 && unanswered_ >= kMostUnanswered) lose();
  if (child_.pid >= 0) {
    ++unanswered_;
    if (!child_.send({"P", "0"}) && errno != EAGAIN) lose();
  }
  if (child_.pid < 0) revive();
}

void HttpProcess::revive() {
  if (policies_.empty()) return;
  Result<Child> child = start_with(policies_.front());
  if (!child.ok()) return;
  if (!serve_by(std::move(child).value()).ok()) return lose();
  for (std::size_t number = 1; number < policies_.size(); ++number) {
    if (!tell_policy(number)) return lose();
  }
  for (const auto& [id, held] : connections_) static_cast<void>(send_pair(id, held));
}

// What it had taken is refused with it; the rest waits for the next one.
void HttpProcess::lose() {
  watch_.stop();
  pause_.stop();
  child_.end();
  ++lost_;
  questions_.clear();
  std::vector<std::pair<std::shared_ptr<HttpSink>, std::string>> ended;
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (it->second.pair.client.is_open()) {
      ++it;
      continue;
    }
    const HttpPair& pair = it->second.pair;
    const bool is_bare = pair.name.find(':') == std::string::npos;
    const std::string host = is_bare ? pair.name : "[" + pair.name + "]";
    if (auto sink = it->second.sink.lock()) {
      ended.emplace_back(std::move(sink), host + ":" + std::to_string(pair.port));
    }
    it = connections_.erase(it);
  }
  for (const auto& [sink, target] : ended) {
    sink->on_denial(
        {Refuser::kNetwork, "connections", target + " (ended with sbx-http)", 1, "", ""});
    sink->on_end(0, 0);
  }
}

}  // namespace sbx
