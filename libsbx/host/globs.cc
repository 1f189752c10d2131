// SPDX-License-Identifier: Apache-2.0
// A walk by descriptor; what has been matched of the pattern so far is a place in its components.
#include "host/globs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <span>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxDepth = 128;

class Walk {
 public:
  Walk(const Glob& glob, const std::atomic<bool>* is_given_up)
      : glob_(glob), is_given_up_(is_given_up) {
    for (const std::string_view part : split(glob.pattern, '/')) {
      if (!part.empty()) parts_.emplace_back(part);
    }
  }

  // `at`: places in the pattern that the path so far has come to; all of them at once, so that no
  // directory is listed twice.
  void visit(int dirfd, const char* name, const std::string& prefix,
             const std::set<std::size_t>& at, std::size_t depth) {
    Listing listing(dirfd, name, O_NOFOLLOW);
    if (!listing.is_open()) return note_unlisted(dirfd, name, prefix, errno);
    while (const dirent* entry = listing.next()) {
      if (!problem_.empty() || ++seen_ > kMaxGlobEntries || found_.size() > kMaxGlobMatches ||
          is_given_up()) {
        return;
      }
      std::set<std::size_t> next;
      bool matches = false;
      for (const std::size_t place : at) step(place, entry->d_name, next, matches);
      const std::string path = prefix + entry->d_name;
      if (matches) found_.push_back(path);
      const bool may_hold = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
      if (next.empty() || !may_hold || glob_.hidden.contains(join_path(glob_.base, path))) continue;
      if (depth == kMaxDepth) {
        refuse(path, "lies too deep");
        continue;
      }
      visit(listing.fd(), entry->d_name, path + "/", next, depth + 1);
    }
    if (errno != 0) refuse(prefix, errno_text(errno));
  }

  Result<std::vector<std::string>> take(const std::string& where) {
    const std::string& base = glob_.base;
    if (is_given_up()) return Error{ErrorCode::kSetupFailed, "given up: " + base, where, ""};
    if (!problem_.empty()) {
      return Error{ErrorCode::kPathRefused,
                   "what the pattern matches cannot be known: " + base + "/" + problem_, where,
                   "let its owner list it, or name the paths themselves"};
    }
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
  bool is_given_up() const { return is_given_up_ != nullptr && is_given_up_->load(); }

  void refuse(const std::string& path, const std::string& why) {
    if (glob_.unlisted == Unlisted::kMatches) found_.push_back(path);
    if (glob_.unlisted == Unlisted::kRefused && problem_.empty()) problem_ = path + ": " + why;
  }

  // What the command could neither search nor open up holds nothing for it.
  void note_unlisted(int dirfd, const char* name, const std::string& path, int error) {
    if (is_missing(error) || error == ELOOP) return;
    struct stat info {};
    const bool is_closed =
        error == EACCES && fstatat(dirfd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        info.st_uid != geteuid() && faccessat(dirfd, name, X_OK, AT_EACCESS) != 0;
    if (!is_closed) refuse(path, errno_text(error));
  }

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
  const Glob& glob_;
  const std::atomic<bool>* const is_given_up_;
  std::string problem_;
};

// Where `**` has taken too few names it is the last one that takes another: the work is the product
// of both lengths, whatever names a command has made.
bool holds(std::span<const std::string_view> pattern, std::span<const std::string_view> names) {
  std::size_t part = 0;
  std::size_t name = 0;
  std::optional<std::size_t> last;  // the part behind the last `**`
  std::size_t begin = 0;            // and where that was begun with
  while (part < pattern.size()) {
    if (pattern[part] == "**") {
      last = ++part;
      begin = name;
    } else if (name < names.size() && fnmatch(std::string(pattern[part]).c_str(),
                                              std::string(names[name]).c_str(), 0) == 0) {
      ++part;
      ++name;
    } else if (last && begin < names.size()) {
      part = *last;
      name = ++begin;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string whole_glob(std::string_view base, std::string_view pattern) {
  return std::string(base == "/" ? "" : base).append("//").append(pattern);
}

bool glob_holds(std::string_view whole, std::string_view path) {
  const std::size_t at = whole.find("//");
  if (!path.starts_with(whole.substr(0, at + 1))) return false;
  return holds(split(whole.substr(at + 2), '/'), split(path.substr(at + 1), '/'));
}

bool any_glob_holds(const std::vector<std::string>& those, std::string_view path) {
  return std::any_of(those.begin(), those.end(),
                     [&](const std::string& whole) { return glob_holds(whole, path); });
}

Result<std::vector<std::string>> expand_glob(const Glob& glob, const std::string& where,
                                             const std::atomic<bool>* is_given_up) {
  Walk walk(glob, is_given_up);
  walk.visit(AT_FDCWD, glob.base.c_str(), "", {0}, 0);
  return walk.take(where);
}

Result<std::vector<std::string>> Expansions::of(const Glob& glob, const std::string& where) {
  const auto known = known_.find(glob);
  if (known != known_.end()) return known->second;
  if (is_closed_) {
    has_missed_ = true;
    return Error{ErrorCode::kPathRefused,
                 "the directory of a pattern was replaced while it was looked at: " + glob.base,
                 where, "run again"};
  }
  SBX_TRY(std::vector<std::string> found, expand_glob(glob, where, &is_given_up_));
  return known_.emplace(glob, std::move(found)).first->second;
}

void Expansions::reopen() {
  known_.clear();
  is_closed_ = has_missed_ = false;
}

std::string nearest_there(const std::string& path) {
  for (std::size_t end = path.size(); end != 0 && end != std::string::npos;
       end = path.rfind('/', end - 1)) {
    struct stat info {};
    if (lstat(path.substr(0, end).c_str(), &info) == 0) return path.substr(0, end);
  }
  return "/";
}

bool is_closed_to_us(const std::string& path) {
  struct stat info {};
  return lstat(nearest_there(path).c_str(), &info) == 0 && info.st_uid != geteuid();
}

}  // namespace sbx
