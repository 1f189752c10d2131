// SPDX-License-Identifier: Apache-2.0
// One loop over the run's epoll set, stdout and stderr. They are the caller's and stay blocking:
// what poll(2) calls writable takes 4096 bytes at once (pipe(7)).
#include "stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "base/loop.h"
#include "base/utf8.h"
#include "loop.h"
#include "report/account.h"
#include "report/events.h"

namespace sbx {
namespace {

// Beyond the first no more is read of the command, until no more than the second waits.
constexpr std::size_t kMostQueued = std::size_t{256} << 10;
constexpr std::size_t kFewQueued = std::size_t{64} << 10;
constexpr std::size_t kChunk = 4096;

// What waits to be written to one descriptor.
class Queue {
 public:
  explicit Queue(int fd) : fd_(fd) {}

  void add(std::string_view text) {
    if (fd_ >= 0) text_ += text;
  }
  std::size_t size() const { return text_.size() - written_; }
  // Without anything to write, poll(2) still tells that the reader has gone.
  struct pollfd wanted() const {
    return {fd_, static_cast<short>(size() > 0 ? POLLOUT : 0), 0};
  }
  // False where nothing ever can be written again.
  bool write_some(short events) {
    if (fd_ < 0 || events == 0) return true;
    if ((events & POLLOUT) == 0) return close();
    const ssize_t written = write(fd_, text_.data() + written_, std::min(size(), kChunk));
    if (written < 0) return errno == EINTR || errno == EAGAIN || close();
    written_ += static_cast<std::size_t>(written);
    if (written_ >= kFewQueued || size() == 0) {
      text_.erase(0, written_);
      written_ = 0;
    }
    return true;
  }

 private:
  bool close() {
    fd_ = -1;
    text_.clear();
    written_ = 0;
    return false;
  }

  int fd_;
  std::string text_;
  std::size_t written_ = 0;
};

class Writer {
 public:
  explicit Writer(const StreamForm* text) : text_(text) {
    if (text == nullptr) return;
    err_text_ = TerminalText(text->err);
    out_text_ = TerminalText(text->out);
  }

  void add(OutputChannel channel, std::string_view bytes) {
    const bool is_out = channel == OutputChannel::kOut;
    if (text_ == nullptr) return add_event(channel, streams_.at(is_out ? 0 : 1).append(bytes));
    if (!is_out) {
      err_.add(err_text_.append(bytes));
      is_fresh_line_ = err_text_.is_fresh_line();
    } else if (text_->out == TerminalText::Kind::kBytes) {
      out_.add(bytes);
      if (text_->is_one_place && !bytes.empty()) is_fresh_line_ = bytes.back() == '\n';
    } else {
      out_.add(out_text_.append(bytes));
      is_fresh_line_ = out_text_.is_fresh_line();
    }
  }

  // What comes after the output.
  void finish(const Outcome& outcome) {
    if (text_ != nullptr) {
      const std::string rest = out_text_.finish();  // empty where it is no terminal
      if (!rest.empty()) is_fresh_line_ = is_fresh_line_ && out_text_.is_fresh_line();
      out_.add(rest);
      err_.add(err_text_.finish());
      // Behind the "^C" that the terminal itself has written.
      const bool is_echoed =
          outcome.status == RunStatus::kCancelled && text_->err != TerminalText::Kind::kBytes;
      const bool is_fresh = is_fresh_line_ && err_text_.is_fresh_line() && !is_echoed;
      account_ = (is_fresh ? "" : "\n") + account_text(outcome, text_->colours);
      return;
    }
    for (const OutputChannel channel : {OutputChannel::kOut, OutputChannel::kErr}) {
      add_event(channel, streams_.at(channel == OutputChannel::kOut ? 0 : 1).finish());
    }
    for (const Denial& denial : outcome.denials) out_.add(denial_event(denial) + "\n");
  }

  bool is_over(std::size_t size) const { return out_.size() > size || err_.size() > size; }

  // Waits for what can be written, for `fd` and until `timeout_ms`; writes. False: the reader of
  // stdout has gone.
  bool step(int fd, int timeout_ms, bool& is_ready) {
    // The account begins where all else has been written.
    if (out_.size() == 0) err_.add(std::exchange(account_, {}));
    struct pollfd ready[3] = {{fd, POLLIN, 0}, out_.wanted(), err_.wanted()};
    is_ready = false;
    if (poll(ready, 3, timeout_ms) < 0) return errno == EINTR;
    is_ready = ready[0].revents != 0;
    err_.write_some(ready[2].revents);
    return out_.write_some(ready[1].revents);
  }
  bool is_done() const { return out_.size() == 0 && err_.size() == 0 && account_.empty(); }

 private:
  void add_event(OutputChannel channel, const std::string& text) {
    if (text.empty()) return;
    std::uint64_t& offset = offsets_.at(channel == OutputChannel::kOut ? 0 : 1);
    out_.add(output_event(channel, text, offset) + "\n");
    offset += text.size();
  }

  const StreamForm* text_;
  Queue out_{STDOUT_FILENO};
  Queue err_{STDERR_FILENO};
  std::array<Utf8Stream, 2> streams_;
  std::array<std::uint64_t, 2> offsets_{};
  TerminalText out_text_{TerminalText::Kind::kBytes};
  TerminalText err_text_{TerminalText::Kind::kBytes};
  bool is_fresh_line_ = true;  // where the account goes
  std::string account_;
};

}  // namespace

int run_streaming(RunInput input, const StreamForm* text, std::unique_ptr<CommandRun>& run) {
  Writer writer(text);
  const int signal_fd = input.signal_fd;
  // By a person: a prompt, or how far it is.
  const bool is_for_a_person = text != nullptr && (text->out != TerminalText::Kind::kBytes ||
                                                   text->err != TerminalText::Kind::kBytes);
  input.unfinished = is_for_a_person ? Unfinished::kDecided : Unfinished::kShown;
  input.on_output = [&writer](OutputChannel channel, std::string_view bytes) {
    writer.add(channel, bytes);
  };
  run = std::make_unique<CommandRun>(std::move(input));
  run->start();
  bool is_read = true;  // by somebody
  bool is_ready = false;
  while (!run->is_done()) {
    // Of a command that has ended only what is in its pipes is still to come.
    const bool runs = run->pid() >= 0;
    if (is_read && runs && writer.is_over(kMostQueued)) run->hold_output(true);
    if (!runs || !writer.is_over(kFewQueued)) run->hold_output(false);
    if (!writer.step(run->poll_fd(), Loop::wait_ms(run->deadline()), is_ready) && is_read) {
      is_read = false;
      run->hold_output(false);
      run->cancel();
    }
    run->step();
  }
  if (!is_read) return -1;
  writer.finish(run->outcome());
  while (!writer.is_done()) {
    if (!writer.step(signal_fd, -1, is_ready)) return -1;
    const int number = is_ready ? read_signal(signal_fd) : 0;
    if (number != 0) return number;
  }
  return 0;
}

}  // namespace sbx
