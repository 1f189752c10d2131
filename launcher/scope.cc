// SPDX-License-Identifier: Apache-2.0
// systemd-run --scope registers the process that it is, and then executes the command in its place:
// process id, descriptors and parent stay.
#include "scope.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/pointers.h"
#include "host/facts.h"

namespace sbx {
namespace {

Error unavailable(std::string message, int error = 0) {
  return Error{ErrorCode::kLayerUnavailable, std::move(message), "--scope",
               "leave --scope out: limits then hold as `sbx-run doctor` says", error};
}

// Where systemd's managers listen; systemd-run itself would fail with words of its own.
std::optional<bool> needs_user_manager(const Environment& environment) {
  if (geteuid() == 0 && access("/run/systemd/private", F_OK) == 0) return false;
  const auto runtime = environment.find("XDG_RUNTIME_DIR");
  const std::string directory =
      runtime == environment.end() ? "/run/user/" + std::to_string(geteuid()) : runtime->second;
  if (access((directory + "/systemd/private").c_str(), F_OK) == 0) return true;
  return std::nullopt;
}

}  // namespace

Status take_scope(const Invocation& invocation) {
  const CgroupFacts cgroup = find_cgroup();
  if (!cgroup.base.empty()) return {};
  if (invocation.is_in_scope) {
    return unavailable("systemd's scope has no cgroup v2 subtree to use: " + cgroup.reason);
  }
  const std::optional<bool> is_user = needs_user_manager(invocation.environment);
  if (!is_user) {
    return unavailable("no systemd answers here that could give a scope: " + cgroup.reason);
  }
  std::vector<std::string> words = {"systemd-run", "--scope", "--quiet", "--collect",
                                    "--property=Delegate=yes"};
  if (*is_user) words.insert(words.begin() + 1, "--user");
  words.insert(words.end(), {"--", "/proc/self/exe"});
  std::string own(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", own.data(), own.size());
  if (size > 0) words.back() = own.substr(0, static_cast<std::size_t>(size));
  words.insert(words.end(), invocation.command_line.begin(), invocation.command_line.end());
  const std::vector<char*> argv = pointers(words);
  setenv(kInScope, "1", 1);
  execvp(argv[0], argv.data());
  const int error = errno;
  return unavailable("systemd-run: " + errno_text(error), error);
}

}  // namespace sbx
