// SPDX-License-Identifier: Apache-2.0
// Aside: work on a thread of its own, whose end a loop can wait for: what takes as long as somebody
// hostile has made it take holds up nobody else.
#pragma once

#include <pthread.h>

#include <functional>
#include <memory>

#include "base/owned_fd.h"

namespace sbx {

class Aside {
 public:
  // `work` gets no signals, and must not touch what others use meanwhile. Null where there can be
  // no thread.
  static std::unique_ptr<Aside> start(std::function<void()> work);
  ~Aside();  // waits for its end
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  int fd() const { return ended_.get(); }  // readable once it has ended
  bool has_ended() const;

 private:
  Aside() = default;

  std::function<void()> work_;
  OwnedFd ended_;
  pthread_t thread_{};
};

}  // namespace sbx
