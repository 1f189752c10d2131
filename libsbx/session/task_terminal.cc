// SPDX-License-Identifier: Apache-2.0
// Size and modes are kept here; the screen is sbx-screen's.
#include "session/task_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <utility>

#include "run/redaction.h"

namespace sbx {

TaskTerminal::TaskTerminal(const TaskOutput& output, StdinQueue& input, TerminalSize size)
    : size_(size) {
  auto process = ScreenProcess::start(output, [this, &input](std::string_view text) {
    if (watchers_.empty()) (void)input.push(std::string(text), false, nullptr).ok();
    input.write();
  });
  if (process.ok()) {
    process_ = std::move(process).value();
    process_->resize(size);
  } else {
    failure_ = process.error();
  }
}

void TaskTerminal::take_master(int fd) {
  master_.reset(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  resize(size_);
}

void TaskTerminal::resize(TerminalSize size) {
  if (process_ && size != size_) process_->resize(size);
  size_ = size;
  const struct winsize window {
    static_cast<unsigned short>(size.rows), static_cast<unsigned short>(size.columns), 0, 0
  };
  if (master_.is_open()) ioctl(master_.get(), TIOCSWINSZ, &window);
}

// An answer to kText has nine bytes of numbers before the text.
void TaskTerminal::ask(ScreenProcess::Question question, Reply reply) {
  if (process_ == nullptr) {
    const std::string& last = question == ScreenProcess::kText ? last_text_ : last_repaint_;
    return reply(failure_ ? Result<std::string>(*failure_) : Result<std::string>(last));
  }
  process_->ask(
      question, [this, question, reply = std::move(reply)](const Result<std::string>& answer) {
        constexpr std::size_t kNumbers = 9;
        if (!answer.ok()) return reply(answer);
        const std::string& text = answer.value();
        if (question == ScreenProcess::kRepaint)
          return reply(modes_.redo() + redact_text(redaction_, text));
        if (text.size() < kNumbers) {
          return reply(Error{ErrorCode::kInternal, "sbx-screen gave no screen", "sbx-screen", ""});
        }
        reply(text.substr(0, kNumbers) + redact_text(redaction_, text.substr(kNumbers)));
      });
}

void TaskTerminal::end() {
  master_.reset();
  if (process_ == nullptr || std::exchange(is_ending_, true)) return;
  const auto keep = [this](std::string& to) {
    return [this, &to](const Result<std::string>& answer) {
      if (answer.ok()) {
        to = answer.value();
      } else {
        failure_ = answer.error();
      }
    };
  };
  ask(ScreenProcess::kText, keep(last_text_));
  ask(ScreenProcess::kRepaint, keep(last_repaint_));
}

std::optional<TaskTerminal::Clock::time_point> TaskTerminal::deadline() const {
  return process_ ? process_->deadline() : std::nullopt;
}

void TaskTerminal::step() {
  if (process_ == nullptr) return;
  process_->step();
  if (is_ending_ && process_->has_answered()) process_.reset();
}

}  // namespace sbx
