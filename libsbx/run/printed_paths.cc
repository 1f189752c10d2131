// SPDX-License-Identifier: Apache-2.0
#include "run/printed_paths.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "guard/places.h"
#include "trace/file_grants.h"

namespace sbx {
namespace {

constexpr std::size_t kMostEntries = 32;
// A path that is printed: among them the last byte of an opening quote in UTF-8, and the first of a
// closing one.
constexpr std::string_view kAround = " \t'\"`()=:\x98\xe2";

}  // namespace

bool names_path(std::string_view line, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end < line.size() && line[end] != '/' && kAround.find(line[end]) == kAround.npos) continue;
    const std::size_t begin = line.substr(0, at).find_last_of(kAround) + 1;
    const std::string_view word = line.substr(begin, end - begin);
    const std::string normal = guard::resolve_path(word, "/");
    // What a blank has cut off is no directory.
    const bool is_cut = line.substr(0, begin).ends_with(' ');
    if (word.starts_with('/')
            ? path == normal
            : path.ends_with(normal) || (is_cut && path.ends_with(' ' + normal.substr(1)))) {
      return true;
    }
  }
  return false;
}

std::vector<Denial> printed_refusals(const LaunchPlan& plan, const Policy& policy,
                                     std::string_view printed, const std::vector<Denial>& known) {
  std::vector<Denial> out;
  if (!plan.wanted.has(Layer::kMount)) return out;
  const auto is_told = [](const std::vector<Denial>& denials, const std::string& path) {
    return std::any_of(denials.begin(), denials.end(),
                       [&](const Denial& denial) { return denial.target == path; });
  };
  std::size_t lines = 0;
  for (const std::string_view line : split(printed, '\n')) {
    const bool is_closed =
        line.find("ermission denied") != line.npos || line.find("EACCES") != line.npos;
    if (!is_closed || line.size() > kLongestComplaint) continue;
    if (++lines > kMostComplaints) break;
    for (const auto& [path, shown] : plan.shown) {
      if (out.size() == kMostEntries) return out;
      if (shown != "none" || !names_path(line, path)) continue;
      if (is_told(out, path) || is_told(known, path)) continue;
      out.push_back({Refuser::kMount, "open", path, 1, "", file_grant(plan, policy, path, false)});
    }
  }
  return out;
}

}  // namespace sbx
