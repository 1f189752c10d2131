// SPDX-License-Identifier: Apache-2.0
// A stream socket, each way frames (screen/frames.h).
#include "session/screen_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/start_program.h"

namespace sbx {
namespace {

constexpr const char* kName = "sbx-screen";
constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMostPieces = 16;  // in one go, so that others have theirs

Error failed(const char* call) {
  return call_failed(ErrorCode::kSetupFailed, std::string(kName) + ": " + call, call,
                     "raise the limits of open files and processes");
}

}  // namespace

Result<std::unique_ptr<ScreenProcess>> ScreenProcess::start(
    const TaskOutput& output, std::function<void(std::string_view)> answer_back) {
  std::unique_ptr<ScreenProcess> made(new ScreenProcess(output));
  made->answer_back_ = std::move(answer_back);
  SBX_CHECK_OK(made->launch());
  return made;
}

Status ScreenProcess::launch() {
  SBX_CHECK_OK(loop_.open());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return failed("socketpair");
  }
  socket_.reset(ends[0]);
  const OwnedFd theirs(ends[1]);
  fcntl(ends[0], F_SETFL, O_RDWR | O_NONBLOCK);
  SBX_TRY(pid_, start_companion(kName, theirs.get()));
  watch_ = loop_.watch(ends[0], EPOLLIN, [this](std::uint32_t events) {
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) take();
  });
  if (!watch_.is_on()) return failed("epoll_ctl");
  return {};
}

void ScreenProcess::say(std::string frame) {
  words_.push_back({output_.end(), std::move(frame)});
  feed();
}

void ScreenProcess::resize(TerminalSize size) {
  std::string text;
  append_number(text, static_cast<std::uint32_t>(size.columns), 2);
  append_number(text, static_cast<std::uint32_t>(size.rows), 2);
  std::string frame;
  append_frame(frame, 'R', text);
  say(std::move(frame));
}

void ScreenProcess::ask(Question question, Reply reply) {
  replies_.push_back(std::move(reply));
  if (pid_ < 0) return lose("has ended");
  if (replies_.size() == 1) {
    patience_ = loop_.after(kPatience, [this] { lose("does not answer"); });
  }
  std::string frame;
  append_frame(frame, question, "");
  say(std::move(frame));
}

void ScreenProcess::step() {
  loop_.step();
  feed();
}

// What was written first, then what was said behind it.
bool ScreenProcess::has_next() {
  if (!words_.empty() && words_.front().at <= fed_) {
    sending_ = std::move(words_.front().frame);
    words_.pop_front();
    return true;
  }
  const TaskOutput::Piece piece = output_.next_piece(fed_);
  if (piece.text.empty()) {
    if (words_.empty()) return false;
    fed_ = words_.front().at;  // what lay before it is lost
    return has_next();
  }
  sending_.clear();
  append_frame(sending_, 'D', piece.text);
  fed_ = piece.offset + piece.text.size();
  return true;
}

void ScreenProcess::feed() {
  for (std::size_t i = 0; pid_ >= 0 && i < kMostPieces; ++i) {
    if (sending_.empty() && !has_next()) {
      watch_.want(EPOLLIN);
      return;
    }
    const ssize_t size =
        send(socket_.get(), sending_.data(), sending_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN && errno != EINTR) return lose("has ended");
    if (size > 0) sending_.erase(0, static_cast<std::size_t>(size));
    if (!sending_.empty()) break;
  }
  if (pid_ >= 0) watch_.want(EPOLLIN | EPOLLOUT);
}

void ScreenProcess::take() {
  std::array<char, std::size_t{64} << 10> buffer{};
  const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return lose("has ended");
  reader_.append({buffer.data(), static_cast<std::size_t>(size)});
  while (const auto frame = reader_.next()) {
    if (frame->kind == 'O') {
      answer_back_(frame->text);
      continue;
    }
    if (replies_.empty()) return lose("answers what nobody asked");
    const Reply reply = std::move(replies_.front());
    replies_.pop_front();
    patience_.stop();
    if (!replies_.empty()) {
      patience_ = loop_.after(kPatience, [this] { lose("does not answer"); });
    }
    reply(frame->text);
  }
  if (reader_.is_broken()) lose("answers with too much");
}

void ScreenProcess::lose(const char* why) {
  if (why_lost_.empty()) why_lost_ = why;
  patience_.stop();
  watch_.stop();
  socket_.reset();
  words_.clear();
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  for (const Reply& reply : std::exchange(replies_, {})) {
    reply(Error{ErrorCode::kSetupFailed,
                std::string(kName) + ", which follows the task's terminal, " + why_lost_, kName,
                "the task itself goes on: `output` has what it wrote"});
  }
}

}  // namespace sbx
