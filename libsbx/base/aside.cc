// SPDX-License-Identifier: Apache-2.0
// A thread and an eventfd.
#include "base/aside.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <cstddef>

#include "base/files.h"

namespace sbx {
namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;  // touched as far as it is used

}  // namespace

std::unique_ptr<Aside> Aside::start(std::function<void()> work) {
  std::unique_ptr<Aside> made(new Aside());
  made->work_ = std::move(work);
  made->ended_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->ended_.is_open()) return nullptr;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const auto run = [](void* self) -> void* {
    const auto* const aside = static_cast<Aside*>(self);
    aside->work_();
    eventfd_write(aside->ended_.get(), 1);
    return nullptr;
  };
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&made->thread_, &attributes, run, made.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) return made;
  made->ended_.reset();
  return nullptr;
}

Aside::~Aside() {
  if (ended_.is_open()) pthread_join(thread_, nullptr);
}

bool Aside::has_ended() const { return is_ready(ended_.get(), POLLIN); }

}  // namespace sbx
