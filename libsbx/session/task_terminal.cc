// SPDX-License-Identifier: Apache-2.0
// Size and modes are kept here; the screen is sbx-screen's.
#include "session/task_terminal.h"

#include <fcntl.h>
#include <re2/re2.h>
#include <sys/ioctl.h>

#include <utility>
#include <vector>

#include "output/redact.h"
#include "run/redaction.h"

namespace sbx {
namespace {

// How wide it may be at most.
std::size_t width(std::string_view row) {
  std::size_t columns = 0;
  for (const char c : row) {
    const auto byte = static_cast<unsigned char>(c);
    columns += (byte & 0xc0U) == 0x80 ? 0 : (byte < 0xe0 ? 1 : 2);
  }
  return columns;
}

// Of rows, or of the escapes that draw them. What follows a row that is full may be its rest: a
// secret is looked for across such ends first, which stay where they are.
std::string redact_rows(const RedactionInput& redaction, std::string_view text,
                        std::size_t columns) {
  if (redaction.rules == nullptr) return std::string(text);
  static const re2::RE2 kEnd("(\\n|\\x1b\\[[0-9]+;1H)");
  std::string joined;
  std::vector<std::pair<std::size_t, std::string_view>> ends;  // that are not in it
  re2::StringPiece rest(text.data(), text.size());
  std::size_t begin = 0;
  for (re2::StringPiece found; re2::RE2::FindAndConsume(&rest, kEnd, &found);) {
    const std::string_view end(found.data(), found.size());
    const auto at = static_cast<std::size_t>(end.data() - text.data());
    const std::string_view row = text.substr(begin, at - begin);
    begin = at + end.size();
    joined += row;
    if (end == "\n" ? width(row) < columns : row.ends_with(' ')) {
      joined += end;
    } else {
      ends.emplace_back(joined.size(), end);
    }
  }
  joined += text.substr(begin);
  std::string out;
  auto end = ends.begin();
  std::size_t given = 0;
  const auto give = [&](std::size_t to, bool is_secret) {
    for (; end != ends.end() && end->first <= to; ++end) {
      if (!is_secret) out.append(joined, given, end->first - given);
      out += end->second;
      given = end->first;
    }
    if (!is_secret) out.append(joined, given, to - given);
    given = to;
  };
  for (const SecretSpan& secret : Redactor(redaction.rules, redaction.exact_values).find(joined)) {
    give(secret.begin, false);
    out += kReplacement;
    give(secret.end, true);
  }
  give(joined.size(), false);
  return redact_text(redaction, out);
}

}  // namespace

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
          return reply(modes_.redo() + redact_rows(redaction_, text, 0));
        if (text.size() < kNumbers) {
          return reply(Error{ErrorCode::kInternal, "sbx-screen gave no screen", "sbx-screen", ""});
        }
        std::string_view numbers = text;
        const std::size_t columns = take_number(numbers, 2);
        reply(text.substr(0, kNumbers) +
              redact_rows(redaction_, std::string_view(text).substr(kNumbers), columns));
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
