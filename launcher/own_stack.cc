// SPDX-License-Identifier: Apache-2.0
// makecontext(3) on mapped memory: no second thread, which forks would leave behind.
#include "own_stack.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>

namespace sbx {
namespace {

constexpr std::size_t kEnough = std::size_t{4} << 20;

}  // namespace

void run_on_enough_stack(void (*body)()) {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kEnough) {
    void* const stack = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    static ucontext_t context;  // its own registers may need more than a small stack has
    if (stack != MAP_FAILED && getcontext(&context) == 0) {
      context.uc_stack.ss_sp = stack;
      context.uc_stack.ss_size = kEnough;
      context.uc_link = nullptr;
      makecontext(&context, body, 0);
      setcontext(&context);
    }
  }
  body();
  _exit(125);
}

}  // namespace sbx
