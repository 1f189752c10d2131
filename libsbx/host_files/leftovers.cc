// SPDX-License-Identifier: Apache-2.0
// Made, watched, removed.
#include "host_files/leftovers.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/files.h"
#include "host_files/places.h"
#include "host_files/remove_tree.h"
#include "host_files/workspace_files.h"

namespace sbx {
namespace {

// Without a pid namespace the command's last descendants may outlive sbx-run by a moment, and write
// while their files are removed.
void remove_scratch(const std::string& path) {
  for (int i = 0; i < 100 && !remove_tree(path); ++i) {
    const struct timespec pause { 0, 100'000'000 };
    nanosleep(&pause, nullptr);
  }
}

// Nobody else's: it is removed even where it was never made.
Result<std::string> unused_name() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) {
    return "run-" + std::to_string(number);
  }
  return Error{ErrorCode::kSetupFailed, "getrandom: " + errno_text(errno), "getrandom", "", errno};
}

// What stands there by now may be somebody else's.
bool is_own_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

}  // namespace

Leftovers::~Leftovers() {
  bool is_gone = true;
  if (box_) {
    is_gone = kill_box(*box_).ok() && remove_box(*box_).ok();
  }
  remove_stubs();
  if (!scratch_.empty()) is_gone = remove_tree(scratch_) && is_gone;
  is_gone = remove_workspace() && is_gone;
  if (!leaf_.empty()) is_gone = leave_leaf(leaf_) && is_gone;
  if (is_gone) watchdog_.dismiss();  // else it is tried again by the process that holds it
}

Status Leftovers::enter_leaf(CgroupFacts& facts) {
  if (!facts.must_move) return {};
  SBX_CHECK_OK(announce(Left::kLeaf, {leaf_path(facts)}));
  leaf_ = leaf_path(facts);
  return sbx::enter_leaf(facts);
}

Status Leftovers::make_cgroup(const CgroupFacts& facts, const CgroupLimits& limits) {
  SBX_TRY(const std::string path, new_box_path(facts));
  SBX_CHECK_OK(announce(Left::kBox, {path}));
  SBX_TRY(CgroupBox box, make_box(path, limits));
  box_ = std::move(box);
  return {};
}

Status Leftovers::make_stubs(const std::vector<std::string>& paths) {
  SBX_CHECK_OK(announce(Left::kStub, paths));
  return stubs_.make(paths);
}

void Leftovers::remove_stubs() {
  for (const OwnedFd& removed : stubs_.remove()) watchdog_.hand_over(removed.get());
  if (is_empty()) watchdog_.dismiss();
}

Result<std::string> Leftovers::make_scratch(const std::string& base) {
  SBX_TRY(const std::string name, unused_name());
  const std::string path = base + "/sbx-" + name;
  SBX_CHECK_OK(announce(Left::kTree, {path}));
  const bool made = mkdir(path.c_str(), 0700) == 0;
  if (made) scratch_ = path;
  if (made && mkdir((path + "/tmp").c_str(), 0700) == 0 &&
      mkdir((path + "/home").c_str(), 0700) == 0) {
    return path;
  }
  return Error{ErrorCode::kSetupFailed, "mkdir(" + path + "): " + errno_text(errno), path,
               "set TMPDIR to a directory that can be written", errno};
}

Result<std::string> Leftovers::make_workspace(const std::vector<std::string>& places) {
  Error error{ErrorCode::kSetupFailed, "there is no place for a fresh workspace", "workspace.mode",
              "set XDG_CACHE_HOME or TMPDIR to a directory that can be written"};
  for (const std::string& place : places) {
    const Result<OwnedFd> base = open_private_directory(place);
    if (!base.ok()) {
      error = base.error();
      continue;
    }
    // The view takes no root whose path holds a symlink, as a home's may.
    const Result<std::string> real = real_path(place);
    SBX_TRY(const std::string name, unused_name());
    const std::string path = (real.ok() ? real.value() : place) + "/" + name;
    SBX_CHECK_OK(announce(Left::kTree, {path}));
    if (mkdir(path.c_str(), 0700) == 0) {
      workspace_ = path;
      return path;
    }
    error = Error{ErrorCode::kSetupFailed, "mkdir(" + path + "): " + errno_text(errno), path,
                  "set XDG_CACHE_HOME or TMPDIR to a directory that can be written", errno};
  }
  return error;
}

Status Leftovers::adopt_workspace(const std::string& path) {
  workspace_ = path;
  return announce(Left::kTree, {path});
}

bool Leftovers::remove_workspace() {
  if (workspace_.empty()) return true;
  if (!remove_tree(workspace_)) return false;
  workspace_.clear();
  return true;
}

bool Leftovers::ran_out_of_memory() const {
  if (!box_) return false;
  const auto events = read_memory_events(*box_);
  return events && events->oom_kill > 0;
}

bool Leftovers::ran_out_of_pids() const { return box_ && read_pids_events(*box_).value_or(0) > 0; }

void Leftovers::remove_left(AllLeft left) {
  std::vector<CgroupBox> boxes;
  for (const std::string& path : left[Left::kBox]) {
    CgroupBox box = open_box(path);
    if (box.directory.is_open() && kill_box(box).ok()) boxes.push_back(std::move(box));
  }
  for (const CgroupBox& box : boxes) (void)remove_box(box, 2000).ok();
  for (const std::string& path : left[Left::kLeaf]) {
    for (int i = 0; i < 200 && !leave_leaf(path); ++i) {
      const struct timespec pause { 0, 10'000'000 };
      nanosleep(&pause, nullptr);
    }
  }
  for (const std::string& path : left[Left::kStaged]) remove_staged(path);
  Stubs::remove_left(left[Left::kStub]);
  for (const std::string& path : left[Left::kTree]) {
    if (is_own_directory(path)) remove_scratch(path);
  }
}

}  // namespace sbx
