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
constexpr std::size_t kMostLines = 256;  // that are looked through, the first ones
constexpr std::size_t kLongestLine = 8192;
constexpr std::string_view kAround = " \t'\"`()=:";  // a path that is printed
constexpr std::string_view kOpenQuote = "\xe2\x80\x98";
constexpr std::string_view kCloseQuote = "\xe2\x80\x99";

// As far as it is known without the directory that it is relative to.
bool names(std::string_view line, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool is_whole = end == line.size() || line[end] == '/' ||
                          line.substr(end, 3) == kCloseQuote ||
                          kAround.find(line[end]) != kAround.npos;
    if (!is_whole) continue;
    std::size_t begin = line.substr(0, at).find_last_of(kAround) + 1;
    const std::size_t quote = line.substr(0, at).rfind(kOpenQuote);
    if (quote != line.npos) begin = std::max(begin, quote + kOpenQuote.size());
    const std::string_view word = line.substr(begin, end - begin);
    const std::string normal = resolve_path(word, "/");
    if (path == normal) return true;
    if (word.starts_with('/')) continue;
    // What a blank has cut off is no directory.
    const char cut = begin > 0 && line[begin - 1] == ' ' ? ' ' : '/';
    if (path.ends_with(normal) || path.ends_with(cut + normal.substr(1))) return true;
  }
  return false;
}

}  // namespace

std::vector<Denial> printed_refusals(const LaunchPlan& plan, const Policy& policy,
                                     const Outcome& outcome) {
  std::vector<Denial> out;
  if (!plan.wanted.has(Layer::kMount)) return out;
  const auto is_told = [](const std::vector<Denial>& denials, const std::string& path) {
    return std::any_of(denials.begin(), denials.end(),
                       [&](const Denial& denial) { return denial.target == path; });
  };
  std::size_t lines = 0;
  for (const std::string_view line : split(outcome.err.text, '\n')) {
    const bool is_closed =
        line.find("ermission denied") != line.npos || line.find("EACCES") != line.npos;
    if (!is_closed || line.size() > kLongestLine) continue;
    if (++lines > kMostLines) break;
    for (const auto& [path, shown] : plan.shown) {
      if (out.size() == kMostEntries) return out;
      if (shown != "none" || !names(line, path)) continue;
      if (is_told(out, path) || is_told(outcome.denials, path)) continue;
      out.push_back({Refuser::kMount, "open", path, 1, "", file_grant(plan, policy, path, false)});
    }
  }
  return out;
}

}  // namespace sbx
