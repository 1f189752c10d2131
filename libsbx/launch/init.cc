// SPDX-License-Identifier: Apache-2.0
// PID 1: hands descriptors out, reaps, ends with the command or with the supervisor. No heap.
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "launch/child.h"
#include "launch/descriptors.h"
#include "launch/guards.h"
#include "launch/network.h"
#include "launch/tree.h"
#include "sys/calls.h"

namespace sbx {
namespace {

// Nobody waits for it any more; should the supervisor forget it, it goes by itself.
constexpr int kLongestStayMs = 1000;
// How long what is killed may take to end, so that what it used is counted.
constexpr int kLongestEndMs = 300;

volatile sig_atomic_t g_terminate = 0;  // set by the handlers of a process that does nothing else
volatile sig_atomic_t g_ask_to_end = 0;

void on_child(int) {}
void on_terminate(int) { g_terminate = 1; }
// Only from outside: kill(2) from another pid namespace shows no sender, and SI_USER cannot be
// forged by rt_sigqueueinfo(2).
void on_ask(int, siginfo_t* info, void*) {
  if (info->si_code == SI_USER && info->si_pid == 0) g_ask_to_end = 1;
}

void install(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

void install_ask(bool has_pid_namespace) {
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = on_ask;
  if (!has_pid_namespace) {
    action.sa_flags = 0;
    action.sa_handler = [](int) { g_ask_to_end = 1; };
  }
  ::sigaction(kAskToEnd, &action, nullptr);
}

// The kernel counts the processes of the namespace's user, or its ids, and says only at a fork that
// they are as many as the command may have.
void note_pids(const ChildContext& context) {
  if (!context.bounds_pids) return;
  for (std::uint32_t i = 0; i < context.op_count; ++i) {
    const auto* const limit = context.ops[i].as<op::SetLimit>();
    if (limit == nullptr || limit->resource != RLIMIT_NPROC) continue;
    struct rlimit most {
      limit->soft - 1, limit->hard  // the command itself has left its place
    };
    if (::setrlimit(RLIMIT_NPROC, &most) != 0) return;
  }
  const int child = ::clone([](void*) -> int { ::_exit(0); }, context.stack + context.stack_size,
                            CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
  if (child < 0 && errno == EAGAIN) context.state->reached_pids.store(1);
}

// Whatever loses its parent becomes a child of PID 1: no child, no other process. True where none
// is left.
bool reap_all() {
  pid_t reaped = 0;
  while ((reaped = ::wait4(-1, nullptr, WNOHANG | __WALL, nullptr)) > 0) {
  }
  return reaped < 0 && errno == ECHILD;
}

// The kernel ends everything else when PID 1 does, but nobody would be told what it used.
bool end_all() {
  ::kill(-1, SIGKILL);
  sigset_t ended;
  ::sigemptyset(&ended);
  ::sigaddset(&ended, SIGCHLD);
  const std::int64_t until = now_ms() + kLongestEndMs;
  while (!reap_all()) {
    const std::int64_t left = until - now_ms();
    if (left <= 0) return false;
    const struct timespec wait { 0, static_cast<long>(left) * 1'000'000 };
    ::sigtimedwait(&ended, nullptr, &wait);
  }
  return true;
}

[[noreturn]] void finish(const ChildContext& context) {
  if (!context.has_pid_namespace) kill_descendants(10'000);
  if (context.has_pid_namespace) {
    bool is_empty = reap_all();
    if (!is_empty) {
      note_pids(context);
      is_empty = end_all();
    }
    if (is_empty && ::getrusage(RUSAGE_CHILDREN, &context.state->all_usage) == 0) {
      context.state->is_empty.store(1);
    }
    // The supervisor hears of the end here: the kernel would close it after the namespaces, which
    // take their time to go.
    ::close(context.control);
    // One that answers before that lets go of the lifeline when it has: on a core that both share,
    // this exit would keep it off meanwhile.
    if (context.slot != nullptr) {
      struct pollfd lifeline {
        context.lifeline, 0, 0
      };
      ::poll(&lifeline, 1, kLongestStayMs);
    }
  }
  ::_exit(0);
}

void tell(int control, ReportTag what) {
  char tag = static_cast<char>(what);
  FdMessage<1> message(&tag, 1);
  message.send(control, nullptr, 0);
}

// The supervisor stops with the command: nothing may run inside meanwhile, unwatched.
void suspend(ChildContext& context) {
  if (context.has_pid_namespace) ::kill(-1, SIGSTOP);
  context.is_suspended = true;
  tell(context.control, ReportTag::kStopped);
}

// Reaps whatever has ended. True once the command has.
bool reap(ChildContext& context, pid_t command) {
  for (;;) {
    int status = 0;
    struct rusage usage {};
    const pid_t pid =
        ::wait4(-1, &status, context.tells_stops ? WNOHANG | WUNTRACED : WNOHANG, &usage);
    if (pid < 0 && errno == ECHILD) return true;  // nothing is left to wait for, nor to tell
    if (pid == 0 || (pid < 0 && errno != EINTR)) return false;
    if (pid != command) continue;
    if (WIFSTOPPED(status)) {
      suspend(context);
      continue;
    }
    context.state->wait_status = status;
    context.state->usage = usage;
    context.state->ended.store(1);
    return true;
  }
}

// A namespace of its own gave it every capability, of which none is needed any more, except for
// ports below 1024 where the namespace does not open them to all, and for putting back what the
// host uncovers. The command cannot reach them: PID 1 is not dumpable, executes nothing, and mounts
// only an empty file, or a path read-only over itself.
void drop_capabilities(const ChildContext& context) {
  if (!context.has_user_namespace) return;
  struct __user_cap_header_struct header {
    _LINUX_CAPABILITY_VERSION_3, 0
  };
  struct __user_cap_data_struct data[2] = {};
  std::uint32_t kept = 0;
  if (!context.has_low_ports) kept |= 1U << CAP_NET_BIND_SERVICE;
  if (context.has_guards && context.replaced != ReplacedMode::kReport) kept |= 1U << CAP_SYS_ADMIN;
  data[0].effective = data[0].permitted = kept;
  if (::syscall(SYS_capset, &header, data) != 0) ::_exit(125);
}

void answer(int control, int fd, int error) {
  char text[2] = {static_cast<char>(ReportTag::kAnswer), static_cast<char>(error)};
  FdMessage<1> message(text, fd < 0 ? 2 : 1);
  // Blocking would be right, but the socket does not; the supervisor bounds what it asks for.
  message.send(control, &fd, fd < 0 ? 0 : 1);
}

// The command's process shared our memory until its exec, or its end, so it is known by now.
void tell_begun(const ChildContext& context) {
  if (context.state->tells_begin.load() == 0 || context.state->executed.load() == 0) return;
  tell(context.control, ReportTag::kBegun);
}

// It may lead its group no longer.
void go_on(ChildContext& context, pid_t command) {
  context.is_suspended = false;
  if (context.has_pid_namespace) ::kill(-1, SIGCONT);
  ::kill(command, SIGCONT);
  ::kill(-command, SIGCONT);
  ::kill(-command, SIGWINCH);  // it draws itself anew
}

// Makes what the supervisor asks for. Only it can write here: the command has no such descriptor.
void serve(ChildContext& context, pid_t command) {
  InsideRequest request;
  while (::recv(context.control, &request, sizeof request, MSG_DONTWAIT) == sizeof request) {
    if (request.kind == InsideRequest::Kind::kContinue) {
      go_on(context, command);
      continue;
    }
    const int fd = make_inside_socket(request);
    answer(context.control, fd, fd < 0 ? errno : 0);
    if (fd >= 0) ::close(fd);
  }
}

// A hidden pattern may have thousands of directories watched.
void close_all_but_own(const ChildContext& context) {
  std::bitset<kMostDescriptors> own;
  unsigned end = 0;  // of those marked in it
  const auto keep = [&](int fd) {
    const auto number = static_cast<unsigned>(fd);
    if (fd < 0) return;
    own.set(number);
    end = end > number ? end : number + 1;
  };
  for (const int fd : {context.control, context.lifeline, context.mask_file, context.mask_directory,
                       context.inotify}) {
    keep(fd);
  }
  for (std::uint32_t i = 0; context.has_guards && i < context.op_count; ++i) {
    if (const auto* const watch = context.ops[i].as<op::Watch>()) keep(watch->fd);
  }
  unsigned first = 0;
  for (unsigned number = 0; number < end; ++number) {
    if (!own.test(number)) continue;
    if (number > first) sys::close_range(first, number - 1, 0);
    first = number + 1;
  }
  sys::close_range(first, ~0U, 0);
}

// The heap is a copy of the supervisor's: of each page that this one goes on to write, the old one
// would stay here, and a server has many commands. Left are what the operations lie in, and the
// beginning, where a static program has what belongs to its thread.
void let_go_of_heap(const ChildContext& context) {
  constexpr std::uintptr_t kMostOfThread = std::uintptr_t{64} << 10;
  struct Range {
    std::uintptr_t begin, end;
  };
  const auto range = [](const void* begin, std::size_t size) {
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    return Range{at, at + size};
  };
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  std::uintptr_t from = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  if (from > end || end - from < kMostOfThread) return;  // no such program, or nothing to gain
  from += kMostOfThread;
  Range kept[] = {range(context.ops, context.op_count * sizeof(Op)),
                  range(context.arena, context.arena_size),
                  range(context.stack, context.stack_size),
                  {end, end}};
  std::sort(std::begin(kept), std::end(kept),
            [](const Range& one, const Range& other) { return one.begin < other.begin; });
  for (const Range& next : kept) {
    const std::uintptr_t begin = (from + page - 1) / page * page;
    const std::uintptr_t until = next.begin / page * page;
    if (until > begin && until <= end) {
      ::munmap(reinterpret_cast<void*>(begin), until - begin);  // with its page tables
    }
    if (next.end > from) from = next.end;
  }
}

// Ends everything at once: what was uncovered is not to be read.
[[noreturn]] void end_run(const ChildContext& context) {
  if (!context.has_pid_namespace) finish(context);
  ::kill(-1, SIGKILL);
  ::_exit(0);
}

}  // namespace

void run_init(ChildContext& context, pid_t command) noexcept {
  // Without the listener nobody would answer the refused calls.
  if (send_reports(context) != 0) ::_exit(125);
  tell_begun(context);
  // Whatever else the supervisor had open, and the command's standard descriptors: a pipe that
  // PID 1 kept would never end.
  close_all_but_own(context);
  let_go_of_heap(context);
  drop_capabilities(context);

  sigset_t blocked;
  sigset_t open;
  ::sigfillset(&blocked);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  ::sigfillset(&open);
  ::sigdelset(&open, SIGCHLD);
  ::sigdelset(&open, SIGTERM);
  ::sigdelset(&open, kAskToEnd);
  install(SIGCHLD, on_child);
  // The first process of a pid namespace gets no signal from inside that it has no handler for.
  if (!context.has_pid_namespace) install(SIGTERM, on_terminate);
  install_ask(context.has_pid_namespace);
  if (context.has_guards) {
    hear_changes();
    for (const int number : kGuardSignals) ::sigdelset(&open, number);
  }
  for (;;) {
    const bool has_ended = reap(context, command);
    if (has_heard_changes(context) && !look_at_guards(context)) end_run(context);
    if (has_ended) finish(context);
    struct pollfd waiting[3] = {{context.lifeline, 0, 0},
                                {context.control, POLLIN, 0},
                                {context.inotify, POLLIN, 0}};  // -1 is passed over
    const int ready = ::ppoll(waiting, 3, nullptr, &open);
    const int ended = ready < 0 ? 0 : (waiting[0].revents | waiting[1].revents);
    if ((ended & (POLLHUP | POLLERR)) != 0 || g_terminate != 0) finish(context);
    if (ready > 0 && (waiting[1].revents & POLLIN) != 0) serve(context, command);
    if (g_ask_to_end != 0) {
      g_ask_to_end = 0;
      ask_descendants_to_end(context.has_pid_namespace);
    }
  }
}

}  // namespace sbx
