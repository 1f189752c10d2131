// SPDX-License-Identifier: Apache-2.0
#include "run/printed_paths.h"

#include <sys/stat.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "guard/places.h"
#include "run/at_hand.h"
#include "trace/file_grants.h"

namespace sbx {
namespace {

constexpr std::size_t kMostEntries = 32;
// A path that is printed: among them the last byte of an opening quote in UTF-8, and the first of a
// closing one.
constexpr std::string_view kAround = " \t'\"`()=:\x98\xe2";

constexpr std::string_view kQuotes = "'\"\xe2";  // each ends what it begins

// The absolute paths of a line, as far as blanks without quotation marks tell them. One that begins
// it is the program's own, unless the complaint follows at once.
std::vector<std::string> paths_of(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = line.find('/'); at != line.npos; at = line.find('/', at)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    const bool begins = kAround.find(before) != kAround.npos;
    const bool is_quoted = before == '\'' || before == '"' || before == '\x98';
    const std::size_t end =
        std::min(line.find_first_of(is_quoted && begins ? kQuotes : kAround, at), line.size());
    const bool is_program = at == 0 && !line.substr(end).starts_with(": Read-only file system");
    if (begins && !is_program) out.push_back(guard::resolve_path(line.substr(at, end - at), "/"));
    at = end;
  }
  return out;
}

// The first that is shown read-only.
std::string read_only_in(std::string_view line, const LaunchPlan& plan) {
  for (std::string& path : paths_of(line)) {
    if (shown_as(plan, path) == "ro") return std::move(path);
  }
  return "";
}

// What lets it be written: the file, or the directory that it would be made in.
std::string grant_to_write(const LaunchPlan& plan, const Policy& policy, const std::string& path) {
  struct stat info {};
  std::string place = path;
  if (!is_at_hand(place)) return "";
  if (lstat(place.c_str(), &info) != 0) place = parent_of(path);
  if (lstat(place.c_str(), &info) != 0 || S_ISLNK(info.st_mode)) return "";
  return file_grant(plan, policy, is_always_protected(policy, path) ? path : place, true);
}

// Whether a refusal that is told of says as much: the path's own, of what holds it, or of what lies
// beside it, in whose place it was to be moved.
bool says_as_much(const Denial& denial, const std::string& path) {
  const std::string& target = denial.target;
  return target.starts_with('/') &&
         (is_below(path, target) || parent_of(path) == parent_of(target));
}

bool holds_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.find(word) != line.npos; });
}

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
                                     std::string_view printed, const std::vector<Denial>& known,
                                     bool failed) {
  std::vector<Denial> out;
  if (!plan.wanted.has(Layer::kMount)) return out;
  const auto is_told = [](const std::vector<Denial>& denials, const std::string& path) {
    return std::any_of(denials.begin(), denials.end(),
                       [&](const Denial& denial) { return denial.target == path; });
  };
  std::size_t lines = 0;
  for (const std::string_view line : split(printed, '\n')) {
    const bool is_closed = holds_any(line, {"ermission denied", "EACCES"});
    const bool is_read_only = failed && holds_any(line, {"ead-only file system", "EROFS"});
    if (!(is_closed || is_read_only) || line.size() > kLongestComplaint) continue;
    if (++lines > kMostComplaints) break;
    if (is_read_only) {
      std::string path = read_only_in(line, plan);
      const auto is_said = [&](const Denial& denial) { return says_as_much(denial, path); };
      if (path.empty() || std::any_of(known.begin(), known.end(), is_said) || is_told(out, path)) {
        continue;
      }
      if (out.size() == kMostEntries) return out;
      std::string grant = grant_to_write(plan, policy, path);
      out.push_back({Refuser::kMount, "open", std::move(path), 1, "", std::move(grant)});
      continue;
    }
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
