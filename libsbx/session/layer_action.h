// SPDX-License-Identifier: Apache-2.0
// One action on a kept layer, by a process of sbx-layer: a commit of a million files holds nobody
// up. Never blocks: poll fd() for reading, then step().
#pragma once

#include <sys/types.h>

#include <cstdint>
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

// What is done with it.
struct LayerAct {
  using Reply = std::function<void(const Result<LayerAnswer>& answer)>;

  bool changes = false;  // the session's own layer
  std::uint64_t client = 0;
  std::string id;  // by which the client may cancel what only reads; empty: it cannot
  // What the reply tells, made of the answer on a thread of its own; empty: the answer itself.
  std::function<Result<LayerAnswer>(const LayerAnswer& answer)> shown;
  Reply reply;
};

class LayerAction {
 public:
  // `words` as sbx-layer takes them; `lock` of the layer that it changes is held until it has
  // ended, whatever becomes of this process; -1: of none. Errors: kPathNotFound, where that is not
  // installed; kSetupFailed.
  static Result<std::unique_ptr<LayerAction>> start(const std::vector<std::string>& words,
                                                    const Environment& environment, int lock);
  ~LayerAction();  // waits for the process: a commit is not broken off; what only reads is ended
  LayerAction(const LayerAction&) = delete;
  LayerAction& operator=(const LayerAction&) = delete;

  int fd() const { return output_.get(); }
  // True when it has ended; then answer() says how. kTooLarge: more than is kept was printed.
  bool step();
  Result<LayerAnswer> answer() const;
  bool only_reads() const { return only_reads_; }

  LayerAct act;

 private:
  explicit LayerAction(const std::string& action)
      : only_reads_(action == "diff" || action == "list") {}
  void reap();

  const bool only_reads_;
  bool is_too_large_ = false;
  pid_t pid_ = -1;
  OwnedFd output_;
  LayerAnswer answer_;
};

}  // namespace sbx
