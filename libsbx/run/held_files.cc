// SPDX-License-Identifier: Apache-2.0
// A look before and a look after.
#include "run/held_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/by_number.h"
#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "host/globs.h"
#include "host/protect.h"
#include "host_files/open_way.h"

namespace sbx {
namespace {

constexpr std::size_t kMostMatches = 64;  // of one pattern, that are named

const char* operation_of(const View::Pattern& pattern) {
  return pattern.hides ? "hidden_appeared" : "protected_created";
}

void name(DenialLedger& denials, const char* operation, const std::string& path,
          const char* grant = "") {
  denials.add({Refuser::kMount, operation, path, 1, "", grant});
}

// What a symlink leads to is not looked at, since the command may not see it. Below `root` it may
// have put one in itself: so all that is reached through one counts, but not where another run has
// put one in the root's own place. A stub is another run's, which can hold the place.
bool stands(const std::string& path, bool counts_stubs = true, const std::string& root = "") {
  return with_open_way(path, [&](const std::string& at) {
    const OwnedFd parent = open_parent(at);
    if (!parent.is_open()) {
      return errno == ELOOP && !root.empty() && open_parent(join_path(root, ".")).is_open();
    }
    const std::string name(name_part(at));
    struct stat info {};
    return fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           (counts_stubs || !is_stub(join_path(by_number(parent.get()), name), info));
  });
}

// What a directory holds may be the caller's: such a one is only given another name, which nobody
// inside can know before. False where errno tells what is in the way.
bool take_away(const std::string& path) {
  const OwnedFd directory = open_parent(path);
  const int at = directory.get();
  const std::string name(name_part(path));
  if (at < 0) return false;
  if (unlinkat(at, name.c_str(), 0) == 0 || errno != EISDIR) return errno != EACCES;
  if (unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno != ENOTEMPTY) return errno != EACCES;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return renameat(at, name.c_str(), at, (name + ".sbx-" + std::to_string(now)).c_str()) == 0;
}

// Of what is only reported. `changes`: where writes went to a layer, what they were.
void name_created(const Policy& policy, const std::vector<ViewProtect>& reported,
                  const std::vector<Change>* changes, DenialLedger& denials) {
  for (const ViewProtect& protect : reported) {
    const std::string& path = protect.node.path;
    const auto is_it = [&](const Change& change) {
      return change.path == path && change.kind == "created";
    };
    const bool is_made = changes != nullptr ? std::any_of(changes->begin(), changes->end(), is_it)
                                            : stands(path, protect.leads_git, protect.root);
    if (!is_made) continue;
    // What is taken away is not to be had.
    const bool is_always = protect.leads_git || is_always_protected(policy, path);
    name(denials, "protected_created", path, is_always ? "" : "remove it from filesystem.protect");
  }
}

}  // namespace

std::optional<HeldFiles::State> HeldFiles::state_of(const std::string& path, bool is_own) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  // Other runs of sbx's add to it meanwhile.
  if (is_own && S_ISREG(info.st_mode)) return State{path, info.st_dev, info.st_ino, 0, 0, true};
  return State{path, info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_ctim), is_own};
}

HeldFiles::HeldFiles(const Policy& policy, const View& view)
    : roots_(view.roots), lifted_(view.lifted), patterns_(view.patterns) {
  for (const ViewProtect& protect : view.protects) {
    if (protect.is_only_reported()) {
      reported_.push_back(protect);
    } else {
      protected_.push_back(protect.node.path);
    }
    if (protect.node.kind == NodeKind::kMissing) continue;
    const auto& own = policy.run.own_files;
    const bool is_own = std::find(own.begin(), own.end(), protect.node.path) != own.end();
    if (std::optional<State> state = state_of(protect.node.path, is_own)) {
      states_.push_back(std::move(*state));
    }
  }
  for (const ViewRoot& root : view.absent) {
    if (root.access == Access::kNone && policy.sandbox.filesystem.overlay) {
      absent_.push_back(root.path());
    }
  }
  if (!guards_git(policy)) return;
  constexpr std::chrono::milliseconds kLong{5};
  const auto begun = std::chrono::steady_clock::now();
  git_ = look_at_git(roots_);
  takes_long_ = std::chrono::steady_clock::now() - begun > kLong;
}

void HeldFiles::compare(const Policy& policy, const LaunchPlan& plan, DenialLedger& denials) const {
  name_created(policy, plan.report_created, nullptr, denials);
  // PID 1 does so as soon as it hears of it, and so not of the last.
  for (const std::string& path : plan.taken_away) {
    if (stands(path)) (void)with_open_way(path, take_away);
  }
  for (const State& then : states_) {
    const std::optional<State> now = state_of(then.path, then.is_own);
    if (now && *now == then) continue;
    name(denials, "protected_changed", then.path);
  }
  for (const std::string& path : absent_) {
    if (stands(path)) {
      name(denials, "hidden_appeared", path);
    }
  }
  compare_patterns(plan, denials);
  if (git_) compare_git(denials);
}

void HeldFiles::compare_changes(const Policy& policy, const std::vector<Change>& changes,
                                DenialLedger& denials) const {
  name_created(policy, reported_, &changes, denials);
  for (const View::Pattern& pattern : patterns_) {
    const std::string whole = whole_glob(pattern.glob.base, pattern.glob.pattern);
    std::size_t count = 0;
    for (const Change& change : changes) {
      const bool is_new = change.kind == "created" && glob_holds(whole, change.path) &&
                          !glob_holds(whole, parent_of(change.path));
      if (!is_new || ++count > kMostMatches) continue;
      name(denials, operation_of(pattern), change.path);
    }
  }
}

void HeldFiles::name_protected(const std::vector<Change>& changes, DenialLedger& denials) const {
  for (const Change& change : changes) {
    const auto holds = [&](const std::string& path) { return is_below(change.path, path); };
    if (!std::any_of(protected_.begin(), protected_.end(), holds)) continue;
    name(denials, "protected_changed", change.path);
  }
}

// What has come to match is there as it was made: hidden or held from the next run on. So may be
// what lies in a directory that can be listed no more.
void HeldFiles::compare_patterns(const LaunchPlan& plan, DenialLedger& denials) const {
  for (const View::Pattern& pattern : patterns_) {
    const char* const operation = operation_of(pattern);
    Glob glob = pattern.glob;
    if (glob.unlisted == Unlisted::kRefused) glob.unlisted = Unlisted::kMatches;
    const Result<std::vector<std::string>> now = expand_glob(glob, "");
    if (!now.ok()) {
      name(denials, operation, join_path(glob.base, glob.pattern));
      continue;
    }
    std::vector<std::string> fresh;
    std::set_difference(now.value().begin(), now.value().end(), pattern.matches.begin(),
                        pattern.matches.end(), std::back_inserter(fresh));
    std::erase_if(fresh, [&](const std::string& path) {  // what the run itself has put there
      const std::string whole = join_path(glob.base, path);
      return std::find(plan.stubs.begin(), plan.stubs.end(), whole) != plan.stubs.end();
    });
    if (fresh.size() > kMostMatches) fresh.resize(kMostMatches);
    for (const std::string& path : fresh) {
      std::string whole = join_path(glob.base, path);
      if (whole.ends_with('/')) whole.pop_back();  // a directory that cannot be listed
      name(denials, operation, whole);
    }
  }
}

// Another configuration or other hooks than before the command, however git is led to them.
void HeldFiles::compare_git(DenialLedger& denials) const {
  const std::vector<Denial> known = denials.entries();
  for (const std::string& path : git_changes(*git_, look_at_git(roots_))) {
    const auto names_it = [&](const Denial& denial) {
      return denial.operation == "protected_created" && is_below(path, denial.target);
    };
    if (std::any_of(known.begin(), known.end(), names_it)) continue;
    if (std::find(lifted_.begin(), lifted_.end(), path) != lifted_.end()) continue;
    name(denials, "git_redirected", path, "remove what lies below .git from filesystem.protect");
  }
}

}  // namespace sbx
