// SPDX-License-Identifier: Apache-2.0
// One action on a kept layer, by a process of sbx-layer: a commit of a million files holds nobody
// up. Never blocks: poll fd() for reading, then step().
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "policy/environment.h"

namespace sbx {

// How it went: what it printed, and its exit status.
struct LayerAnswer {
  std::string text;
  int status = 125;
};

class LayerAction {
 public:
  using Reply = std::function<void(Result<LayerAnswer> answer)>;

  // `words` as sbx-layer takes them. Errors: kPathNotFound, where that is not installed;
  // kSetupFailed.
  static Result<std::unique_ptr<LayerAction>> start(const std::vector<std::string>& words,
                                                    const Environment& environment);
  ~LayerAction();  // waits for the process: a commit is not broken off
  LayerAction(const LayerAction&) = delete;
  LayerAction& operator=(const LayerAction&) = delete;

  int fd() const { return output_.get(); }
  // True when it has ended; then answer() says how.
  bool step();
  const LayerAnswer& answer() const { return answer_; }

  bool changes = false;  // the session's own layer
  Reply reply;

 private:
  LayerAction() = default;
  void reap();

  pid_t pid_ = -1;
  OwnedFd output_;
  LayerAnswer answer_;
};

}  // namespace sbx
