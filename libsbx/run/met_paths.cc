// SPDX-License-Identifier: Apache-2.0
#include "run/met_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "run/at_hand.h"
#include "run/printed_paths.h"
#include "sys/kernel.h"
#include "trace/file_call.h"
#include "trace/file_view.h"
#include "trace/inside_paths.h"

namespace sbx {
namespace {

constexpr auto kRefusals = std::to_array<std::string_view>(
    {"ead-only file system", "o such file or directory", "ermission denied", "esource busy"});

bool tells(std::string_view line) {
  return std::any_of(kRefusals.begin(), kRefusals.end(),
                     [&](std::string_view words) { return line.find(words) != line.npos; });
}

// What the call was, by the coreutils' words; without them the file was opened.
struct CallWords {
  std::string_view words;
  int number;
};

constexpr CallWords kCallWords[] = {
    {"annot create directory", SYS_mkdirat}, {"annot remove", SYS_unlinkat},
    {"ailed to remove", SYS_unlinkat},       {"annot move", SYS_renameat2},
    {"evice move failed", SYS_renameat2},    {"hanging permissions", SYS_fchmodat},
    {"hanging ownership", SYS_fchownat},
};

bool is_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<NamedFile> call_of(std::string_view line, const std::string& path, bool writes) {
  sys::SeccompNotif call{};
  call.data.nr = SYS_openat;
  call.data.args[2] = writes ? O_WRONLY | O_CREAT : O_RDONLY;
  for (const CallWords& row : kCallWords) {
    if (line.find(row.words) == line.npos) continue;
    call.data.nr = row.number;
    const bool removes_directory = row.number == SYS_unlinkat && is_directory(path);
    call.data.args[2] = removes_directory ? AT_REMOVEDIR : 0;
  }
  return files_of(call);
}

}  // namespace

bool tells_of_paths(std::string_view printed) { return tells(printed); }

std::vector<Denial> met_paths(const LaunchPlan& plan, const Policy& policy,
                              std::vector<guard::RefusedPath> named, pid_t inside,
                              std::string_view printed, const std::vector<Denial>& known) {
  std::vector<Denial> out;
  const OwnedFd root = open_root(static_cast<std::uint32_t>(inside));
  if (!root.is_open()) return out;
  FileView view(plan, policy, root);
  // A path that is read as well needs what writing does.
  std::stable_partition(named.begin(), named.end(),
                        [](const guard::RefusedPath& path) { return path.is_written; });
  const auto is_told = [](const std::vector<Denial>& denials, const std::string& path) {
    return std::any_of(denials.begin(), denials.end(),
                       [&](const Denial& denial) { return denial.target == path; });
  };
  std::size_t lines = 0;
  for (const std::string_view line : split(printed, '\n')) {
    if (!tells(line) || line.size() > kLongestComplaint) continue;
    if (++lines > kMostComplaints) break;
    for (const guard::RefusedPath& one : named) {
      const std::string& path = one.path;
      if (is_told(out, path) || is_told(known, path)) continue;
      if (!names_path(line, path) || !is_at_hand(path)) continue;
      for (const NamedFile& file : call_of(line, path, one.is_written)) {
        const auto refusal = view.refusal(file, path);
        if (!refusal) continue;
        out.push_back({refusal->layer, file.operation, path, 1, "", refusal->grant});
        break;
      }
    }
  }
  return out;
}

}  // namespace sbx
