// SPDX-License-Identifier: Apache-2.0
// Framing is one JSON-RPC message a line (docs/sessions.md). Answers are handed on as the bytes
// that came.
#include "client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "rpc/framing.h"
#include "rpc/json_rpc.h"

namespace sbx {
namespace {

constexpr std::size_t kMostFirstLineBytes = std::size_t{1} << 20;
constexpr std::string_view kAnswerBegins = R"({"jsonrpc":"2.0","id":)";
constexpr const char* kTooLong =
    R"({"code":"too_large","message":"the answer has more than 256 MiB","where":"","hint":""})";

Error system_error(const char* call) {
  return call_failed(ErrorCode::kSetupFailed, call, call, "raise the limit of open files");
}

Error error_of(const std::string& text) {
  const nlohmann::json object = parse_json(text);
  return object.is_object() ? read_error(object, ErrorCode::kInternal)
                            : Error{ErrorCode::kInternal, "the session answered " + text, "", ""};
}

// The member `data` of a JSON-RPC error, as text.
std::string error_data(const std::string& error) {
  const Result<std::vector<RawMember>> members = read_members(error);
  if (members.ok()) {
    for (const RawMember& member : members.value()) {
      if (member.key == "data") return std::string(member.value);
    }
  }
  return error;
}

int milliseconds_until(std::chrono::steady_clock::time_point until) {
  const auto now = std::chrono::steady_clock::now();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

}  // namespace

class Client::Use {
 public:
  explicit Use(Client& client) : client_(client) {
    const std::lock_guard<std::mutex> guard(client_.mutex_);
    ++client_.users_;
  }
  ~Use() {
    const std::lock_guard<std::mutex> guard(client_.mutex_);
    client_.hand_over();
    if (--client_.users_ == 0) client_.unused_.notify_all();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Client& client_;
};

Status Client::open() {
  const auto until = Clock::now() + patience_;
  events_ready_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events_ready_.is_open()) return system_error("eventfd");
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return system_error("epoll_create1");
  for (const int fd : {helper_.socket(), events_ready_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll_ctl");
  }
  Lock lock(mutex_);
  Waiter waiter;
  while (!first_line_ && !gone_) {
    const int left = milliseconds_until(until);
    if (left == 0) {
      helper_.kill();
      return Error{ErrorCode::kSessionFailed,
                   "sbx-run did not answer within " + std::to_string(patience_.count()) + " ms",
                   "/server_timeout_ms", "see why it does not start, or give it more time"};
    }
    wait(lock, waiter, left);
  }
  if (!first_line_) return *gone_;
  const nlohmann::json line = parse_json(*first_line_);
  if (line.is_object() && line.contains("error") && line["error"].is_object()) {
    return read_error(line["error"], ErrorCode::kInternal);
  }
  if (line.is_object() && text_at(line, "method") == "server.ready" && line.contains("params") &&
      line["params"].is_object()) {
    token_ = text_at(line["params"], "operator_token");
    return {};
  }
  helper_.kill();
  return Error{ErrorCode::kSessionFailed, "sbx-run does not speak this library's protocol",
               "/program", "install the sbx-run of this library's version"};
}

Error Client::gone() const {
  return gone_.value_or(Error{ErrorCode::kSessionFailed, "the session has ended", "", ""});
}

Status Client::check_usable() const {
  if (is_mine()) return {};
  return Error{ErrorCode::kSessionFailed, "the session belongs to the process that forked", "",
               "open another in this one"};
}

// --- out ---

Status Client::send(std::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return Error{ErrorCode::kTooLarge,
                 "a call of " + std::to_string(line.size()) + " bytes is more than the " +
                     std::to_string(kMaxLineBytes) + " that a session takes",
                 "", "write large files in parts"};
  }
  const std::lock_guard<std::mutex> guard(write_mutex_);
  // What nobody will read is not taken.
  if (helper_.has_ended()) {
    return Error{ErrorCode::kSessionFailed, "sbx-run has ended", "",
                 "it was killed, or failed: open another session"};
  }
  return send_whole(line);
}

Status Client::send_whole(std::string_view line) {
  auto until = Clock::now() + patience_;
  while (!line.empty()) {
    const ssize_t size =
        ::send(helper_.socket(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0) {
      line.remove_prefix(static_cast<std::size_t>(size));
      until = Clock::now() + patience_;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      return call_failed(ErrorCode::kSessionFailed, "send", "",
                         "the session has ended: open another");
    }
    const int left = milliseconds_until(until);
    if (left == 0) {
      Lock lock(mutex_);
      lose(Error{
          ErrorCode::kSessionFailed,
          "sbx-run has taken nothing of a call for " + std::to_string(patience_.count()) + " ms",
          "", "open another session"});
      return gone();
    }
    // The server reads no more until its answers are read: nobody else may be waiting for them.
    struct pollfd ready {
      helper_.socket(), POLLIN | POLLOUT, 0
    };
    if (::poll(&ready, 1, left) < 0 && errno != EINTR) return system_error("poll");
    if ((ready.revents & POLLIN) != 0) {
      Lock lock(mutex_);
      Waiter waiter;
      // Where another thread reads, it does so now.
      wait(lock, waiter, is_reading_ ? 1 : 0);
      hand_over();
      if (gone_) return gone();
    }
  }
  return {};
}

// --- in ---

void Client::wait(Lock& lock, Waiter& waiter, int timeout_ms) {
  if (gone_) return;
  if (is_reading_) {
    waiters_.push_back(&waiter);
    if (timeout_ms < 0) {
      waiter.woken.wait(lock);
    } else {
      waiter.woken.wait_for(lock, std::chrono::milliseconds(timeout_ms));
    }
    waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
    return;
  }
  is_reading_ = true;
  lock.unlock();
  struct pollfd ready {
    helper_.socket(), POLLIN, 0
  };
  const int count = ::poll(&ready, 1, timeout_ms);
  lock.lock();
  is_reading_ = false;
  if (count > 0 && !gone_) read_some();
}

void Client::hand_over() {
  if (!is_reading_ && !waiters_.empty()) waiters_.front()->woken.notify_one();
}

void Client::lose(Error why) {
  if (gone_) return;
  gone_ = std::move(why);
  helper_.hang_up();  // whoever reads wakes
  set_ready();
  for (Waiter* const waiter : waiters_) waiter->woken.notify_one();
}

// Called with the lock held; does not block.
void Client::read_some() {
  const ssize_t size = ::recv(helper_.socket(), chunk_.data(), chunk_.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    return lose(Error{ErrorCode::kSessionFailed, "the session has ended", "",
                      "sbx-run was killed, or failed: open another session"});
  }
  std::string_view came(chunk_.data(), static_cast<std::size_t>(size));
  if (skips_line_) {
    const std::size_t end = came.find('\n');
    if (end == std::string_view::npos) return;
    skips_line_ = false;
    came.remove_prefix(end + 1);
  }
  buffer_.append(came);
  std::size_t begin = 0;
  for (std::size_t end = buffer_.find('\n', scanned_); end != std::string::npos;
       end = buffer_.find('\n', begin)) {
    take_line(std::string_view(buffer_).substr(begin, end - begin));
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  scanned_ = buffer_.size();
  if (scanned_ > (wants_first_line_ ? kMostFirstLineBytes : kMostAnswerBytes)) skip_line();
}

// Of an answer its call fails, and no other.
void Client::skip_line() {
  const std::string_view begun(buffer_);
  const std::size_t end = begun.find(',', kAnswerBegins.size());
  std::optional<std::int64_t> id;
  if (!wants_first_line_ && begun.starts_with(kAnswerBegins)) {
    id = parse_count(begun.substr(kAnswerBegins.size(), end - kAnswerBegins.size()),
                     std::numeric_limits<std::int64_t>::max());
  }
  if (!id) {
    return lose(Error{ErrorCode::kSessionFailed, "sbx-run answered with a line that does not end",
                      "", "install the sbx-run of this library's version"});
  }
  std::string().swap(buffer_);
  scanned_ = 0;
  skips_line_ = true;
  deliver(static_cast<std::uint64_t>(*id), true, kTooLong);
}

void Client::set_ready() {
  const std::uint64_t one = 1;
  (void)!::write(events_ready_.get(), &one, sizeof one);
}

void Client::wake_for_event() {
  for (Waiter* const waiter : waiters_) {
    if (waiter->wants_events) return waiter->woken.notify_one();
  }
}

void Client::take_line(std::string_view line) {
  if (std::exchange(wants_first_line_, false)) {
    first_line_ = line;
    return;
  }
  std::variant<RpcMessage, RpcRefusal> read = read_message(line);
  RpcMessage* const message = std::get_if<RpcMessage>(&read);
  if (message == nullptr) {
    // Whose answer that was is not known: its caller would wait without end.
    return lose(Error{ErrorCode::kSessionFailed, "sbx-run sent a line that cannot be read", "",
                      "install the sbx-run of this library's version"});
  }
  if (!message->method.empty()) {
    const bool had_events = !events_.is_empty();
    events_.push_notification(message->method, message->params);
    if (!had_events) set_ready();
    return wake_for_event();
  }
  const auto id = parse_count(message->id, std::numeric_limits<std::int64_t>::max());
  if (!id) return;
  const bool is_error = !message->error.empty();
  deliver(static_cast<std::uint64_t>(*id), is_error,
          is_error ? error_data(message->error) : std::move(message->result));
}

void Client::deliver(std::uint64_t id, bool is_error, std::string body) {
  if (const auto call = calls_.find(id); call != calls_.end()) {
    call->second.answer = Answer{is_error, std::move(body)};
    call->second.waiter->woken.notify_one();
  } else if (submitted_.erase(id) != 0) {
    const bool had_events = !events_.is_empty();
    events_.push_answer("{\"id\":" + std::to_string(id) +
                        (is_error ? ",\"error\":" : ",\"result\":") + body + "}");
    if (!had_events) set_ready();
    wake_for_event();
  }
}

// --- what the host calls ---

Result<std::string> Client::call(std::string_view method, std::string_view params) {
  SBX_CHECK_OK(check_usable());
  const Use use(*this);
  Lock lock(mutex_);
  if (gone_) return gone();
  const std::uint64_t id = next_id_++;
  Waiter waiter;
  const auto place = calls_.emplace(id, Call{&waiter, std::nullopt}).first;
  lock.unlock();
  const Status sent = send(write_request(std::to_string(id), method, params) + "\n");
  lock.lock();
  while (sent.ok() && !place->second.answer && !gone_) wait(lock, waiter, -1);
  std::optional<Answer> answer = std::move(place->second.answer);
  calls_.erase(place);
  if (answer) {
    if (answer->is_error) return error_of(answer->json);
    return std::move(answer->json);
  }
  if (!sent.ok()) return sent.error();
  return gone();
}

Result<std::uint64_t> Client::submit(std::string_view method, std::string_view params) {
  SBX_CHECK_OK(check_usable());
  const Use use(*this);
  Lock lock(mutex_);
  if (gone_) return gone();
  if (events_.bytes() >= kMostSubmitBytes) {
    return Error{ErrorCode::kTooMany,
                 std::to_string(events_.bytes()) + " bytes of answers and notifications wait", "",
                 "take them with sbx_next()"};
  }
  const std::uint64_t id = next_id_++;
  submitted_.insert(id);
  lock.unlock();
  const Status sent = send(write_request(std::to_string(id), method, params) + "\n");
  if (sent.ok()) return id;
  lock.lock();
  submitted_.erase(id);
  return sent.error();
}

Result<std::optional<std::string>> Client::next(int timeout_ms) {
  SBX_CHECK_OK(check_usable());
  const Use use(*this);
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms < 0 ? 0 : timeout_ms);
  Lock lock(mutex_);
  Waiter waiter;
  waiter.wants_events = true;
  for (bool waited = false; events_.is_empty(); waited = true) {
    if (gone_) return gone();
    const int left = timeout_ms < 0 ? -1 : milliseconds_until(until);
    if (waited && left == 0) return std::optional<std::string>();
    wait(lock, waiter, left);
  }
  std::string event = events_.pop();
  if (events_.is_empty() && !gone_) {
    std::uint64_t count = 0;
    (void)!::read(events_ready_.get(), &count, sizeof count);
  } else if (!events_.is_empty()) {
    wake_for_event();
  }
  return std::optional<std::string>(std::move(event));
}

Status Client::cancel(std::uint64_t id) {
  SBX_CHECK_OK(check_usable());
  const Use use(*this);
  return send(write_notification("cancel", "{\"id\":" + std::to_string(id) + "}") + "\n");
}

void Client::end() {
  Lock lock(mutex_);
  lose(Error{ErrorCode::kSessionFailed, "the session was closed", "", "open another"});
  while (users_ > 0) unused_.wait(lock);
}

void Client::abandon() {
  helper_.abandon();
  events_ready_.reset();
  epoll_.reset();
}

}  // namespace sbx
