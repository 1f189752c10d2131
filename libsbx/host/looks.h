// SPDX-License-Identifier: Apache-2.0
// Looks at what stands at paths, of which the first that fails is kept: what is not known would not
// be hidden or held either.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

class Looks {
 public:
  // The first that failed, else success. Errors: kPathRefused.
  const Status& failure() const { return failure_; }
  void fail(const char* call, const std::string& path, int error);

  // What may not be searched is not there for a command of the same caller either; errno says so.
  Node at(const std::string& path);
  // A symlink's target; empty where that cannot be had.
  std::string link(const std::string& path);
  // The parent directory with every symlink resolved, and the last component as it stands.
  std::string with_real_parent(const std::string& path);

 private:
  Status failure_;
};

NodeKind node_kind(mode_t mode);
// Where a failure is of no matter: what cannot be looked at is not there for the command either.
Node node_at(const std::string& path);
// Whether the mount that it lies on says so.
bool lies_on_noexec(const std::string& path);
Error look_failed(const char* call, const std::string& path, int error);
// A small regular file; nullopt when it is absent, larger than `max` or of another kind.
std::optional<std::string> read_small_file(const std::string& path, std::size_t max);

}  // namespace sbx
