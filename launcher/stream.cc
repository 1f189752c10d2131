// SPDX-License-Identifier: Apache-2.0
// One loop over the run's epoll set and stdout. The descriptor is the caller's and stays blocking:
// what poll(2) calls writable takes 4096 bytes at once (pipe(7)).
#include "stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include "base/utf8.h"
#include "process.h"
#include "report/events.h"

namespace sbx {
namespace {

// Beyond the first no more is read of the command, until no more than the second waits.
constexpr std::size_t kMostQueued = std::size_t{256} << 10;
constexpr std::size_t kFewQueued = std::size_t{64} << 10;
constexpr std::size_t kChunk = 4096;

class Events {
 public:
  void add(OutputChannel channel, std::string_view bytes) {
    Stream& stream = of(channel);
    add_text(channel, stream.text.append(bytes));
  }
  void finish() {
    for (const OutputChannel channel : {OutputChannel::kOut, OutputChannel::kErr}) {
      add_text(channel, of(channel).text.finish());
    }
  }
  void add_line(const std::string& line) {
    queue_ += line;
    queue_ += '\n';
  }

  std::size_t queued() const { return queue_.size() - written_; }

  // After poll(2) has said that something can be written. False where nothing ever can be again.
  bool write_some(int fd) {
    const ssize_t size = write(fd, queue_.data() + written_, std::min(queued(), kChunk));
    if (size < 0) return errno == EINTR || errno == EAGAIN;
    written_ += static_cast<std::size_t>(size);
    if (written_ >= kFewQueued || queued() == 0) {
      queue_.erase(0, written_);
      written_ = 0;
    }
    return true;
  }

 private:
  struct Stream {
    Utf8Stream text;
    std::uint64_t offset = 0;
  };

  Stream& of(OutputChannel channel) { return streams_.at(channel == OutputChannel::kOut ? 0 : 1); }

  void add_text(OutputChannel channel, const std::string& text) {
    if (text.empty()) return;
    add_line(output_event(channel, text, of(channel).offset));
    of(channel).offset += text.size();
  }

  std::array<Stream, 2> streams_;
  std::string queue_;
  std::size_t written_ = 0;  // of the queue
};

int wait_ms(const CommandRun& run) {
  const auto deadline = run.deadline();
  if (!deadline) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*deadline - CommandRun::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

bool run_streaming(RunInput input, int fd, std::unique_ptr<CommandRun>& run) {
  Events events;
  const int signal_fd = input.signal_fd;
  input.on_output = [&events](OutputChannel channel, std::string_view bytes) {
    events.add(channel, bytes);
  };
  run = std::make_unique<CommandRun>(std::move(input));
  run->start();
  bool is_read = true;  // by somebody
  while (!run->is_done()) {
    // Of a command that has ended only what is in its pipes is still to come.
    const bool runs = run->pid() >= 0;
    if (is_read && runs && events.queued() > kMostQueued) run->hold_output(true);
    if (!runs || events.queued() <= kFewQueued) run->hold_output(false);
    // Without anything to write, poll(2) still tells that the reader has gone.
    struct pollfd ready[2] = {
        {run->poll_fd(), POLLIN, 0},
        {is_read ? fd : -1, static_cast<short>(events.queued() > 0 ? POLLOUT : 0), 0}};
    if (poll(ready, 2, wait_ms(*run)) < 0 && errno != EINTR) return false;
    if (is_read && ready[1].revents != 0) {
      is_read = (ready[1].revents & POLLOUT) != 0 && events.write_some(fd);
      if (!is_read) {
        run->hold_output(false);
        run->cancel();
      }
    }
    run->step();
  }
  if (!is_read) return false;
  events.finish();
  for (const Denial& denial : run->outcome().denials) events.add_line(denial_event(denial));
  while (events.queued() > 0) {
    struct pollfd ready[2] = {{fd, POLLOUT, 0}, {signal_fd, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) return false;
    if (ready[0].revents != 0 && !events.write_some(fd)) return false;
    if (ready[0].revents == 0 && ready[1].revents != 0) return false;
  }
  return true;
}

}  // namespace sbx
