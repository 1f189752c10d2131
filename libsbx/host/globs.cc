// SPDX-License-Identifier: Apache-2.0
// A walk by descriptor; what has been matched of the pattern so far is a place in its components.
#include "host/globs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxDepth = 128;

class Walk {
 public:
  explicit Walk(std::string_view pattern) {
    for (const std::string_view part : split(pattern, '/')) {
      if (!part.empty()) parts_.emplace_back(part);
    }
  }

  // `at`: places in the pattern that the path so far has come to; all of them at once, so that no
  // directory is listed twice.
  void visit(int dirfd, const char* name, const std::string& prefix,
             const std::set<std::size_t>& at, std::size_t depth) {
    Listing listing(dirfd, name, O_NOFOLLOW);
    while (const dirent* entry = listing.next()) {
      if (++seen_ > kMaxGlobEntries || found_.size() > kMaxGlobMatches) return;
      std::set<std::size_t> next;
      bool matches = false;
      for (const std::size_t place : at) step(place, entry->d_name, next, matches);
      const std::string path = prefix + entry->d_name;
      if (matches) found_.push_back(path);
      const bool may_hold = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
      if (!next.empty() && may_hold && depth < kMaxDepth) {
        visit(listing.fd(), entry->d_name, path + "/", next, depth + 1);
      }
    }
  }

  Result<std::vector<std::string>> take(const std::string& base, const std::string& where) {
    if (seen_ > kMaxGlobEntries || found_.size() > kMaxGlobMatches) {
      return Error{ErrorCode::kPathRefused,
                   "the pattern matches more than " + std::to_string(kMaxGlobMatches) +
                       " paths, or more than a million entries lie below " + base,
                   where, "write a narrower pattern, or name the directory"};
    }
    std::sort(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  void step(std::size_t place, const char* name, std::set<std::size_t>& next, bool& matches) {
    if (place >= parts_.size()) return;
    if (parts_[place] == "**") {
      next.insert(place);  // one directory more
      step(place + 1, name, next, matches);
      matches = matches || place + 1 == parts_.size();
      return;
    }
    if (fnmatch(parts_[place].c_str(), name, 0) != 0) return;
    if (place + 1 == parts_.size()) {
      matches = true;
    } else {
      next.insert(place + 1);
    }
  }

  std::vector<std::string> parts_;
  std::vector<std::string> found_;
  std::size_t seen_ = 0;
};

}  // namespace

Result<std::vector<std::string>> expand_glob(const std::string& base, std::string_view pattern,
                                             const std::string& where) {
  Walk walk(pattern);
  walk.visit(AT_FDCWD, base.c_str(), "", {0}, 0);
  return walk.take(base, where);
}

}  // namespace sbx
