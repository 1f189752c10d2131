// SPDX-License-Identifier: Apache-2.0
// bubblewrap's command line (as of 0.11) → Options. Pure but for the reader of --args data that it
// is handed. Messages are bubblewrap's, to the letter: programs match on them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx::bwrap {

inline constexpr const char* kVersionLine = "bubblewrap 0.11.0";

enum class ActionKind : std::uint8_t {
  kBind,
  kRoBind,
  kDevBind,
  kOverlay,
  kTmpOverlay,
  kRoOverlay,
  kProc,
  kDev,
  kTmpfs,
  kMqueue,
  kDir,
  kFile,
  kBindData,
  kRoBindData,
  kSymlink,
  kRemountRo,
  kHostname,
  kChmod,
};

// One step of the file system's set-up, in the order given.
struct Action {
  ActionKind kind = ActionKind::kBind;
  std::string source;  // of a bind or symlink; the upper directory of an overlay
  std::string dest;
  bool optional = false;  // -try: skipped where the source does not exist
  int fd = -1;            // of data, or of what is bound
  int perms = 0;
  std::uint64_t size = 0;           // bytes of a tmpfs, 0: the kernel's default
  std::string work;                 // of an overlay
  std::vector<std::string> lowers;  // of an overlay, the topmost first
  dev_t dev = 0;                    // what stands at the source (resolve_sources)
  ino_t ino = 0;
  bool is_directory = false;
};

struct Options {
  bool unshare_user = false;
  bool unshare_user_try = false;
  bool unshare_ipc = false;
  bool unshare_pid = false;
  bool unshare_net = false;
  bool unshare_uts = false;
  bool unshare_cgroup = false;
  bool unshare_cgroup_try = false;
  bool disable_userns = false;
  bool assert_userns_disabled = false;
  bool new_session = false;
  bool die_with_parent = false;
  bool as_pid_1 = false;
  bool level_prefix = false;
  bool has_hostname = false;
  int userns_fd = -1;
  int userns2_fd = -1;
  int pidns_fd = -1;
  int sync_fd = -1;
  int block_fd = -1;
  int userns_block_fd = -1;
  int info_fd = -1;
  int json_status_fd = -1;
  int seccomp_fd = -1;
  std::vector<int> add_seccomp_fds;
  std::int64_t uid = -1;  // -1: the caller's
  std::int64_t gid = -1;
  std::optional<std::string> chdir;
  std::optional<std::string> argv0;
  std::vector<std::string> lock_files;
  std::vector<Action> actions;
  bool sets_capabilities = false;        // --cap-add or --cap-drop was given
  std::uint64_t capabilities = 0;        // what the command keeps; starts as what root has
  std::vector<std::string> environment;  // "NAME=value"; starts as the caller's
  std::vector<std::string> command;
  std::vector<std::string> warnings;

  bool needs_devpts() const;
  bool has_init() const;  // a process that reaps, or holds locks, stays beside the command
  bool starts_after_go() const {
    return info_fd >= 0 || json_status_fd >= 0 || userns_block_fd >= 0;
  }
};

// What the rules below look at besides the options.
struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  bool user_namespaces = true;    // --unshare-user-try makes one
  bool cgroup_namespaces = true;  // the kernel knows them
  std::string cwd;
  std::string terminal;  // of stdout; empty where it is none
};

enum class Wanted : std::uint8_t { kRun, kHelp, kVersion };

// All of the data behind a descriptor. Error: its message is the system's words.
using ReadData = std::function<Result<std::string>(int fd)>;

// Appends to `options`, which holds the warnings even when an error is answered.
Result<Wanted> parse_options(const std::vector<std::string>& arguments, const ReadData& read_data,
                             Options& options);

// The rules between options, in bubblewrap's order; fills in what is implied. A command that is
// missing is not its business.
Status check_options(Options& options, const Caller& caller);

std::string usage_text(std::string_view program);

}  // namespace sbx::bwrap
