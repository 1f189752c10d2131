// SPDX-License-Identifier: Apache-2.0
// sbx-screen: started by sbx-run for one terminal task, with a socket as descriptor 3. All that it
// is told may be hostile: it has no files, no programs, no network, and little memory.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "jail/jail.h"
#include "screen/frames.h"
#include "screen/screen.h"

namespace {

constexpr int kSocket = 3;
constexpr std::size_t kLongestFrame = std::size_t{64} << 10;
constexpr rlim_t kMostMemory = rlim_t{256} << 20;
// Of the processor's time, for one frame. Beyond it libvterm has found a loop without an end, and
// SIGVTALRM ends the process.
constexpr itimerval kLongestWork = {{0, 0}, {2, 0}};
constexpr auto kCalls =
    std::to_array<int>({SYS_read, SYS_write, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise,
                        SYS_exit_group, SYS_restart_syscall, SYS_setitimer});

std::string answer(const sbx::Screen& screen) {
  std::string text;
  const sbx::TerminalSize size = screen.size();
  for (const int number : {size.columns, size.rows, screen.cursor_row(), screen.cursor_column()}) {
    sbx::append_number(text, static_cast<std::uint32_t>(number), 2);
  }
  sbx::append_number(text, screen.is_cursor_visible() ? 1 : 0, 1);
  return text + screen.text();
}

bool handle(sbx::Screen& screen, const sbx::ScreenFrame& frame) {
  std::string out;
  if (frame.kind == 'D') {
    screen.write(frame.text);
    const std::string replies = screen.take_replies();
    if (!replies.empty()) sbx::append_frame(out, 'O', replies);
  } else if (frame.kind == 'R') {
    std::string_view text = frame.text;
    const auto columns = static_cast<int>(sbx::take_number(text, 2));
    screen.resize({columns, static_cast<int>(sbx::take_number(text, 2))});
  } else if (frame.kind == 'S') {
    sbx::append_frame(out, 'S', answer(screen));
  } else if (frame.kind == 'P') {
    sbx::append_frame(out, 'P', screen.repaint());
  }
  return sbx::write_all(kSocket, out);
}

void serve() {
  sbx::Screen screen({});
  sbx::FrameReader reader(kLongestFrame);
  std::array<char, kLongestFrame> buffer{};
  for (;;) {
    const ssize_t size = read(kSocket, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    reader.append({buffer.data(), static_cast<std::size_t>(size)});
    while (const auto frame = reader.next()) {
      setitimer(ITIMER_VIRTUAL, &kLongestWork, nullptr);
      if (!handle(screen, *frame)) return;
    }
    if (reader.is_broken()) return;
  }
}

}  // namespace

int main() {
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(kSocket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    dprintf(STDERR_FILENO, "sbx-screen is started by sbx-run, for tasks with a terminal\n");
    return 125;
  }
  const rlimit memory{kMostMemory, kMostMemory};
  if (setrlimit(RLIMIT_AS, &memory) != 0 || !sbx::close_off(0).ok() ||
      !sbx::enter_jail(kCalls).ok()) {
    return 125;
  }
  serve();
  _exit(0);
}
