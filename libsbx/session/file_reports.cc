// SPDX-License-Identifier: Apache-2.0
// A name is resolved below the sandbox's root and compared with what the plan denies.
#include "session/file_reports.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/utf8.h"
#include "guard/names.h"
#include "session/inside_paths.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxDenials = 256;  // the inside chooses what it names

// What would let a denied program run; empty where nothing does.
std::string grant_for_program(const Policy& policy, const std::string& path) {
  if (is_denied_name({}, path)) return "";
  for (const std::string& pattern : policy.profile.commands.deny) {
    if (matches_name(pattern, path)) return "commands.deny -= [\"" + pattern + "\"]";
  }
  return "";
}

// The first symlink on the way, replaced by what it says; nullopt where none is known.
std::optional<std::string> without_first_link(const OwnedFd& root, const std::string& path) {
  for (std::size_t at = 0; at < path.size();) {
    at = std::min(path.find('/', at + 1), path.size());
    const std::string way = path.substr(0, at);
    const OwnedFd step = open_below(root, way, O_PATH | O_NOFOLLOW, sys::kResolveCached);
    if (!step.is_open()) return std::nullopt;
    const std::optional<std::string> target = link_target(step);
    if (!target) continue;
    const std::string base = target->starts_with('/') ? "" : way.substr(0, way.rfind('/') + 1);
    return base + *target + path.substr(at);
  }
  return std::nullopt;
}

// Without waiting for a disk or a server: what is masked is in the kernel's caches, and so is the
// way to it, as the caller has just taken it. Such a lookup also fails where a mount or a rename
// anywhere on the machine comes between, and at a link whose time of access is due.
OwnedFd open_cached(const OwnedFd& root, std::string& path) {
  constexpr int kMaxTries = 16;
  for (int tries = 1;; ++tries) {
    OwnedFd file = open_below(root, path, O_PATH, sys::kResolveCached);
    if (file.is_open() || errno != EAGAIN || tries == kMaxTries) return file;
    if (auto shorter = without_first_link(root, path)) path = std::move(*shorter);
  }
}

}  // namespace

FileReports::FileReports(const LaunchPlan& plan, const Policy& policy)
    : plan_(plan), policy_(policy), view_(plan, policy, root_) {}

void FileReports::look(const sys::SeccompNotif& call, const Refusals& refusals) {
  if (!root_.is_open()) root_ = open_root(call.pid);
  if (!root_.is_open()) return;
  for (const NamedFile& file : files_of(call)) {
    if (file.address == 0) continue;  // the descriptor itself
    const auto name = read_path(call.pid, file.address);
    if (!name || (name->empty() && !file.may_be_empty)) continue;
    const auto path = absolute_path(call.pid, file.dirfd, *name);
    if (!path) continue;
    std::optional<Denial> denial = denial_of(file, *path);
    if (!denial) continue;
    denial->program = program_name(call.pid);
    if (refusals.is_waiting(call.id)) count(std::move(*denial));
    return;  // the kernel stops at the first one as well
  }
}

std::optional<Denial> FileReports::denial_of(const NamedFile& file, const std::string& path) {
  if (file.need == FileNeed::kExec) {
    const std::string program = denied_program(path);
    if (!program.empty()) {
      const char* const layer = plan_.wanted.has(Layer::kMount) ? "mount" : "landlock";
      return Denial{layer,
                    file.operation,
                    repair_utf8(program),
                    1,
                    "",
                    repair_utf8(grant_for_program(policy_, program))};
    }
  }
  if (!policy_.trace_denials) return std::nullopt;
  const auto refusal = view_.refusal(file, path);
  if (!refusal) return std::nullopt;
  return Denial{refusal->layer,
                file.operation,
                repair_utf8(refusal->target),
                1,
                "",
                repair_utf8(refusal->grant)};
}

// The denied program that `path` leads to, or nothing.
std::string FileReports::denied_program(std::string path) const {
  const auto known = [&](const std::string& real) {
    const auto& denied = plan_.denied_programs;
    return std::find(denied.begin(), denied.end(), real) != denied.end();
  };
  const OwnedFd file = open_cached(root_, path);
  if (!file.is_open()) {
    path = std::filesystem::path(path).lexically_normal().string();
    return known(path) ? path : "";
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  // A mask has no mode at all.
  if (plan_.wanted.has(Layer::kMount) && (info.st_mode & 0777) != 0) return {};
  std::string real = path_of(file.get());
  return known(real) ? real : "";
}

// Beyond the bound, one entry an operation, without a name.
void FileReports::count(Denial denial) {
  const auto is_same = [&](const Denial& other) {
    return other.operation == denial.operation && other.target == denial.target &&
           other.program == denial.program;
  };
  auto known = std::find_if(denials_.begin(), denials_.end(), is_same);
  if (known == denials_.end() && denials_.size() >= kMaxDenials) {
    denial = {denial.layer, denial.operation, "", 1, "", ""};
    known = std::find_if(denials_.begin(), denials_.end(), is_same);
  }
  if (known != denials_.end()) {
    ++known->count;
  } else {
    denials_.push_back(std::move(denial));
  }
}

std::vector<Denial> FileReports::denials() const { return denials_; }

}  // namespace sbx
