// SPDX-License-Identifier: Apache-2.0
// Refusals: answers the seccomp listener (always with EPERM, never with "continue": what the call
// points at may change after the look) and counts what was refused, by call and program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "session/outcome.h"

namespace sbx {

class Refusals {
 public:
  void set_listener(OwnedFd fd) { listener_ = std::move(fd); }
  int listener() const { return listener_.get(); }
  void close() { listener_.reset(); }

  // Answers what waits, at most a bounded number of calls, without blocking. False once the last
  // task of the filter has gone.
  bool answer();

  std::vector<Denial> denials() const;

 private:
  // Programs beyond this many are counted under an empty name: the inside chooses its names.
  static constexpr std::size_t kMaxEntries = 128;

  OwnedFd listener_;
  std::map<std::pair<int, std::string>, std::uint64_t> counts_;
};

}  // namespace sbx
