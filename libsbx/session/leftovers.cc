// SPDX-License-Identifier: Apache-2.0
// Made, watched, removed.
#include "session/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "session/places.h"
#include "session/remove_tree.h"

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

void end_watchdog(OwnedFd& lifeline, pid_t& pid) {
  if (pid < 0) return;
  lifeline.reset();
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid = -1;
}

}  // namespace

Leftovers::~Leftovers() {
  if (box_) {
    if (!kill_box(*box_).ok() || !remove_box(*box_).ok()) {
      // Something cannot be ended yet: the watchdog tries on.
    } else {
      box_.reset();
    }
  }
  stubs_.remove();
  if (!scratch_.empty()) remove_tree(scratch_);
  remove_workspace();
  end_watchdog(watchdog_, watchdog_pid_);
}

Status Leftovers::enter_leaf(CgroupFacts& facts) {
  if (facts.must_move) {
    SBX_TRY(leaf_, sbx::enter_leaf(facts));
  }
  return {};
}

Status Leftovers::make_cgroup(CgroupFacts& facts, const CgroupLimits& limits) {
  SBX_CHECK_OK(enter_leaf(facts));
  SBX_TRY(CgroupBox box, make_box(facts, limits));
  box_ = std::move(box);
  return {};
}

Result<std::string> Leftovers::make_scratch(const std::string& base) {
  std::string path = base + "/sbx-run-XXXXXX";
  const bool made = mkdtemp(path.data()) != nullptr;
  if (made) scratch_ = path;
  if (made && mkdir((path + "/tmp").c_str(), 0700) == 0 &&
      mkdir((path + "/home").c_str(), 0700) == 0) {
    return path;
  }
  return Error{ErrorCode::kSetupFailed, "mkdtemp(" + path + "): " + errno_text(errno), path,
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
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(place.c_str(), nullptr),
                                                           &std::free);
    // The watchdog comes first, so that at no moment something stands there that nobody removes.
    SBX_TRY(const std::string name, unused_name());
    workspace_ = (real == nullptr ? place : std::string(real.get())) + "/" + name;
    SBX_CHECK_OK(watch());
    if (mkdir(workspace_.c_str(), 0700) == 0) return workspace_;
    error =
        Error{ErrorCode::kSetupFailed, "mkdir(" + workspace_ + "): " + errno_text(errno),
              workspace_, "set XDG_CACHE_HOME or TMPDIR to a directory that can be written", errno};
    workspace_.clear();
    end_watchdog(watchdog_, watchdog_pid_);
  }
  return error;
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

Status Leftovers::watch() {
  if (watchdog_pid_ >= 0 ||
      (!box_ && leaf_.empty() && stubs_.empty() && scratch_.empty() && workspace_.empty())) {
    return {};
  }
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::kSetupFailed, "pipe2: " + errno_text(errno), "pipe2", "", errno};
  }
  const OwnedFd read_end(ends[0]);
  watchdog_.reset(ends[1]);
  watchdog_pid_ = fork();
  if (watchdog_pid_ < 0) {
    return Error{ErrorCode::kSetupFailed, "fork: " + errno_text(errno), "fork", "", errno};
  }
  if (watchdog_pid_ > 0) return {};
  // The watchdog: no signal of the terminal ends it, nor who kills every sbx-run by its name; it
  // holds nothing but its pipe and the locks on the stubs.
  prctl(PR_SET_NAME, "sbx-watchdog");
  setsid();
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
  const int keep = read_end.get();
  if (box_) box_->directory.reset();
  stubs_.close_all_but(keep);
  char byte = 0;
  while (read(keep, &byte, 1) < 0 && errno == EINTR) {
  }
  if (box_ && kill_box(*box_).ok()) (void)remove_box(*box_, 2000).ok();
  if (!leaf_.empty()) rmdir(leaf_.c_str());
  stubs_.remove();
  if (!scratch_.empty()) remove_scratch(scratch_);
  if (!workspace_.empty()) remove_scratch(workspace_);
  _exit(0);
}

}  // namespace sbx
