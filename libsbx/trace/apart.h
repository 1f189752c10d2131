// SPDX-License-Identifier: Apache-2.0
// Apart: work whose length somebody hostile chooses, in a copy of this process: it is ended by a
// signal, and nobody waits for it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"

namespace sbx {

class Apart {
 public:
  // One word that the copy may set while it works.
  using Note = std::atomic<bool>;

  // The copy has no descriptors but `kept`, gets no signals but SIGKILL, and ends with this thread,
  // after it has told what `work` answers. Null where it cannot be made.
  static std::unique_ptr<Apart> start(std::vector<int> kept,
                                      const std::function<std::string(Note&)>& work);
  ~Apart();
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  // Does not wait. False while it works; afterwards `answer` is what it told, or empty where it was
  // ended before that.
  bool has_ended(std::string& answer);
  bool has_noted() const { return note_->load(); }

 private:
  Apart() = default;

  OwnedFd process_;       // somebody else may have waited for it: its number could be another's
  Note* note_ = nullptr;  // in a page that both have
  OwnedFd answer_;
};

}  // namespace sbx
