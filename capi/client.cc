// SPDX-License-Identifier: Apache-2.0
// Framing is one JSON-RPC message a line (docs/sessions.md). Answers are handed on as the bytes
// that came.
#include "client.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "rpc/json_rpc.h"

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;

Error system_error(const char* call) {
  const int error = errno;
  return Error{ErrorCode::kSetupFailed, std::string(call) + ": " + errno_text(error), call,
               "raise the limit of open files", error};
}

ErrorCode code_of(std::string_view name) {
  for (const ErrorMeaning& meaning : error_meanings()) {
    if (meaning.name == name) return meaning.code;
  }
  return ErrorCode::kInternal;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// {"code","message","where","hint"} as the server writes it.
Error error_of(const nlohmann::json& object) {
  return Error{code_of(text_of(object, "code")), text_of(object, "message"),
               text_of(object, "where"), text_of(object, "hint")};
}

Error error_of(const std::string& text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  return object.is_object() ? error_of(object)
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

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

}  // namespace

Status Client::open() {
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
  while (!first_line_ && !gone_) wait(lock, -1);
  if (!first_line_) return *gone_;
  const nlohmann::json line = nlohmann::json::parse(*first_line_, nullptr, false);
  if (line.is_object() && line.contains("error") && line["error"].is_object()) {
    return error_of(line["error"]);
  }
  if (line.is_object() && text_of(line, "method") == "server.ready" && line.contains("params") &&
      line["params"].is_object()) {
    token_ = text_of(line["params"], "operator_token");
    return {};
  }
  return Error{ErrorCode::kSessionFailed, "sbx-run does not speak this library's protocol",
               "/program", "install the sbx-run of this library's version"};
}

Error Client::gone() const {
  return gone_.value_or(Error{ErrorCode::kSessionFailed, "the session has ended", "", ""});
}

Status Client::send(std::string_view line) {
  const std::lock_guard<std::mutex> guard(write_mutex_);
  while (!line.empty()) {
    const ssize_t size =
        ::send(helper_.socket(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0) {
      line.remove_prefix(static_cast<std::size_t>(size));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      return Error{ErrorCode::kSessionFailed, "send: " + errno_text(errno), "",
                   "the session has ended: open another", errno};
    }
    // The server reads no more until its answers are read: nobody else may be waiting for them.
    struct pollfd ready {
      helper_.socket(), POLLIN | POLLOUT, 0
    };
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return system_error("poll");
    if ((ready.revents & POLLIN) != 0) {
      Lock lock(mutex_);
      if (!is_reading_) wait(lock, 0);
    }
  }
  return {};
}

void Client::wait(Lock& lock, int timeout_ms) {
  if (gone_) return;
  if (is_reading_) {
    if (timeout_ms < 0) {
      arrived_.wait(lock);
    } else {
      arrived_.wait_for(lock, std::chrono::milliseconds(timeout_ms));
    }
    return;
  }
  is_reading_ = true;
  lock.unlock();
  struct pollfd ready {
    helper_.socket(), POLLIN, 0
  };
  const int count = ::poll(&ready, 1, timeout_ms);
  lock.lock();
  if (count > 0 && !read_some()) {
    gone_ = Error{ErrorCode::kSessionFailed, "the session has ended", "",
                  "sbx-run was killed, or failed: open another session"};
    const std::uint64_t one = 1;
    (void)!::write(events_ready_.get(), &one, sizeof one);
  }
  is_reading_ = false;
  arrived_.notify_all();
}

// Called with the lock held; does not block.
bool Client::read_some() {
  std::array<char, 65536> chunk;  // NOLINT: filled by recv
  const ssize_t size = ::recv(helper_.socket(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  std::size_t begin = 0;
  for (std::size_t end = buffer_.find('\n', scanned_); end != std::string::npos;
       end = buffer_.find('\n', begin)) {
    take_line(std::string_view(buffer_).substr(begin, end - begin));
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  scanned_ = buffer_.size();
  return true;
}

void Client::queue_event(std::string event) {
  events_.push_back(std::move(event));
  if (events_.size() > 1) return;
  const std::uint64_t one = 1;
  (void)!::write(events_ready_.get(), &one, sizeof one);
}

void Client::take_line(std::string_view line) {
  if (std::exchange(wants_first_line_, false)) {
    first_line_ = line;
    return;
  }
  const std::variant<RpcMessage, RpcRefusal> read = read_message(line);
  const RpcMessage* const message = std::get_if<RpcMessage>(&read);
  if (message == nullptr) return;
  if (!message->method.empty()) {
    queue_event("{\"method\":\"" + message->method + "\",\"params\":" + message->params + "}");
    return;
  }
  const auto id = parse_count(message->id, std::numeric_limits<std::int64_t>::max());
  if (!id) return;
  const auto number = static_cast<std::uint64_t>(*id);
  const bool is_error = !message->error.empty();
  if (const auto call = calls_.find(number); call != calls_.end()) {
    call->second = Answer{is_error, is_error ? error_data(message->error) : message->result};
  } else if (submitted_.erase(number) != 0) {
    queue_event(
        "{\"id\":" + message->id +
        (is_error ? ",\"error\":" + error_data(message->error) : ",\"result\":" + message->result) +
        "}");
  }
}

Result<std::string> Client::call(std::string_view method, std::string_view params) {
  Lock lock(mutex_);
  if (gone_) return gone();
  const std::uint64_t id = next_id_++;
  const auto place = calls_.emplace(id, std::nullopt).first;
  lock.unlock();
  const Status sent = send(write_request(std::to_string(id), method, params) + "\n");
  lock.lock();
  while (sent.ok() && !place->second && !gone_) wait(lock, -1);
  const std::optional<Answer> answer = std::move(place->second);
  calls_.erase(place);
  if (!sent.ok()) return sent.error();
  if (!answer) return gone();
  if (answer->is_error) return error_of(answer->json);
  return answer->json;
}

Result<std::uint64_t> Client::submit(std::string_view method, std::string_view params) {
  Lock lock(mutex_);
  if (gone_) return gone();
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
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms < 0 ? 0 : timeout_ms);
  Lock lock(mutex_);
  for (bool waited = false; events_.empty(); waited = true) {
    if (gone_) return gone();
    const int left = timeout_ms < 0 ? -1 : milliseconds_until(until);
    if (waited && left == 0) return std::optional<std::string>();
    wait(lock, left);
  }
  std::string event = std::move(events_.front());
  events_.pop_front();
  if (events_.empty() && !gone_) {
    std::uint64_t count = 0;
    (void)!::read(events_ready_.get(), &count, sizeof count);
  }
  return std::optional<std::string>(std::move(event));
}

Status Client::cancel(std::uint64_t id) {
  return send(write_notification("cancel", "{\"id\":" + std::to_string(id) + "}") + "\n");
}

}  // namespace sbx
