// SPDX-License-Identifier: Apache-2.0
// The walk over the operations, and what stands around it: the first process, the command's own
// process, reports. No heap, no exceptions.
#include "launch/child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launch/descriptors.h"
#include "launch/guards.h"
#include "sys/calls.h"

namespace sbx {
namespace {

// Those as well that the C library keeps for itself, and does not set.
void default_signals() {
  constexpr std::uint64_t kDefault[4] = {};  // the kernel's struct sigaction
  for (int number = 1; number < NSIG; ++number) {
    sys::call_without_errno(SYS_rt_sigaction, number, reinterpret_cast<long>(kDefault), 0,
                            sizeof(std::uint64_t));
  }
}

// PID 1's command line can be read inside, and would tell the operator's flags and hidden paths.
// proc(5): arguments, environment and the program's name lie in a row.
void forget_arguments() {
  constexpr std::uintptr_t kMaxArguments = 8 << 20;
  char* const begin = program_invocation_name;
  const auto end = static_cast<std::uintptr_t>(::getauxval(AT_EXECFN));
  const auto start = reinterpret_cast<std::uintptr_t>(begin);
  if (end > start && end - start < kMaxArguments) std::memset(begin, 0, end - start);
}

[[noreturn]] void fail(ChildContext& context, std::uint32_t index, int error) {
  context.state->failed_errno.store(error);
  context.state->failed_step.store(index + 1);
  ::_exit(125);
}

// Walks from `begin` to the fork of the command, or to the end. Returns the index where it stopped.
std::uint32_t walk(ChildContext& context, std::uint32_t begin) {
  for (std::uint32_t i = begin; i < context.op_count; ++i) {
    Op& op = context.ops[i];
    if (op.is<op::ForkCommand>()) return i;
    const int error = op.execute(context);
    if (error != 0) fail(context, i, error);
    if (op.confirms != kNoLayer) context.state->confirmed.fetch_or(1U << op.confirms);
  }
  return context.op_count;
}

// The sandbox's own files may be larger than what the caller grants its commands.
void raise_file_size(ChildContext& context) {
  struct rlimit& callers = context.caller_file_size;
  if (::getrlimit(RLIMIT_FSIZE, &callers) != 0 || callers.rlim_cur == callers.rlim_max) return;
  struct rlimit raised {
    callers.rlim_max, callers.rlim_max
  };
  ::setrlimit(RLIMIT_FSIZE, &raised);  // what is too large all the same says so itself
}

int command_process(void* argument) {
  ChildContext& context = *static_cast<ChildContext*>(argument);
  std::uint32_t index = 0;
  while (!context.ops[index].is<op::ForkCommand>()) ++index;
  const struct rlimit& file_size = context.caller_file_size;
  if (file_size.rlim_cur < file_size.rlim_max && ::setrlimit(RLIMIT_FSIZE, &file_size) != 0) {
    fail(context, index, failure());
  }
  for (int fd = 0; fd < 3 && !context.passes_through; ++fd) {
    if (::dup2(context.standard[fd], fd) < 0) fail(context, index, failure());
  }
  // Now, while no filter looks at each call.
  if (!context.passes_through) default_signals();
  walk(context, index + 1);
  ::_exit(125);
}

}  // namespace

int report_fd(ChildContext& context, ReportTag tag, int fd) noexcept {
  if (fd < 0) return failure();
  if (context.report_count == kMaxReports) return E2BIG;
  context.report_fds[context.report_count] = fd;
  context.report_tags[context.report_count++] = static_cast<char>(tag);
  return 0;
}

int send_reports(ChildContext& context) noexcept {
  if (context.report_count == 0) return 0;
  const auto count = static_cast<std::size_t>(context.report_count);
  FdMessage<kMaxReports> message(context.report_tags, count);
  if (message.send(context.control, context.report_fds, count) != context.report_count) {
    const int error = failure();
    std::strcpy(context.state->detail, kSendReports);
    return error;
  }
  for (int i = 0; i < context.report_count; ++i) ::close(context.report_fds[i]);
  context.report_count = 0;
  return 0;
}

void run_child(ChildContext& context) noexcept {
  forget_arguments();
  context.caller_umask = ::umask(0);
  raise_file_size(context);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);  // ignored, it would swallow wait statuses
  // What asks PID 1 to end, or tells it of a change, waits until it has its handlers.
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, kAskToEnd);
  ::sigaddset(&blocked, SIGTERM);
  for (const int number : kGuardSignals) ::sigaddset(&blocked, number);
  if (!context.passes_through) ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const std::uint32_t fork_index = walk(context, 0);
  // The command's process shares memory and descriptors until it execs: no page tables are copied,
  // and the listener that it makes after its filter needs no call that the filter could refuse.
  const int command = ::clone(command_process, context.stack + context.stack_size,
                              CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &context);
  if (command < 0) fail(context, fork_index, failure());
  context.keeper(context, command);
  ::_exit(125);  // it does not return
}

}  // namespace sbx
