// SPDX-License-Identifier: Apache-2.0
// The first place that can be written.
#include "own_workspace.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/files.h"

namespace sbx {
namespace {

std::string lookup(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// Empty where nothing can be made in `base`.
std::string name_below(const std::string& base) {
  const Result<std::string> real = real_path(base);
  std::uint64_t number = 0;
  const bool is_good = real.ok() && access(real.value().c_str(), W_OK | X_OK) == 0 &&
                       getrandom(&number, sizeof number, 0) == sizeof number;
  return is_good ? real.value() + "/session-" + std::to_string(number) : "";
}

}  // namespace

Result<std::string> choose_own_workspace(const Environment& environment) {
  std::string cache = lookup(environment, "XDG_CACHE_HOME");
  if (!cache.starts_with('/')) {
    const std::string home = lookup(environment, "HOME");
    cache = home.starts_with('/') ? home + "/.cache" : "";
  }
  if (!cache.empty()) {
    mkdir(cache.c_str(), 0700);
    mkdir((cache + "/sbx").c_str(), 0700);
    const std::string path = name_below(cache + "/sbx");
    if (!path.empty()) return path;
  }
  const std::string tmp = lookup(environment, "TMPDIR");
  const std::string path = name_below(tmp.starts_with('/') ? tmp : "/tmp");
  if (!path.empty()) return path;
  return Error{ErrorCode::kSetupFailed,
               "no directory for the session's own workspace: " + errno_text(errno), "--workspace",
               "name one, or set XDG_CACHE_HOME to a directory that can be written", errno};
}

}  // namespace sbx
