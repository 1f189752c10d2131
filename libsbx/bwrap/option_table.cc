// SPDX-License-Identifier: Apache-2.0
// The table of options, and the one of capabilities (capabilities(7)).
#include "bwrap/option_table.h"

#include <array>
#include <cctype>
#include <charconv>
#include <string>

namespace sbx::bwrap {
namespace {

constexpr std::string_view kOne = "takes one argument";
constexpr std::string_view kAn = "takes an argument";
constexpr std::string_view kTwo = "takes two arguments";

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--help", Opt::kHelp, 0, ""},
    {"--version", Opt::kVersion, 0, ""},
    {"--args", Opt::kArgs, 1, kAn},
    {"--argv0", Opt::kArgv0, 1, kOne},
    {"--level-prefix", Opt::kFlag, 0, ""},
    {"--unshare-all", Opt::kUnshareAll, 0, ""},
    {"--unshare-user", Opt::kFlag, 0, ""},
    {"--unshare-user-try", Opt::kFlag, 0, ""},
    {"--unshare-ipc", Opt::kFlag, 0, ""},
    {"--unshare-pid", Opt::kFlag, 0, ""},
    {"--unshare-net", Opt::kFlag, 0, ""},
    {"--unshare-uts", Opt::kFlag, 0, ""},
    {"--unshare-cgroup", Opt::kFlag, 0, ""},
    {"--unshare-cgroup-try", Opt::kFlag, 0, ""},
    {"--share-net", Opt::kShareNet, 0, ""},
    {"--chdir", Opt::kChdir, 1, kOne},
    {"--disable-userns", Opt::kFlag, 0, ""},
    {"--assert-userns-disabled", Opt::kFlag, 0, ""},
    {"--remount-ro", Opt::kRemountRo, 1, kOne},
    {"--bind", Opt::kBind, 2, kTwo},
    {"--bind-try", Opt::kBind, 2, kTwo},
    {"--ro-bind", Opt::kBind, 2, kTwo},
    {"--ro-bind-try", Opt::kBind, 2, kTwo},
    {"--dev-bind", Opt::kBind, 2, kTwo},
    {"--dev-bind-try", Opt::kBind, 2, kTwo},
    {"--bind-fd", Opt::kBindFd, 2, kTwo},
    {"--ro-bind-fd", Opt::kBindFd, 2, "--bind-fd takes two arguments"},
    {"--overlay-src", Opt::kOverlaySrc, 0, ""},
    {"--overlay", Opt::kOverlay, 3, "takes three arguments"},
    {"--tmp-overlay", Opt::kPlainOverlay, 1, kAn},
    {"--ro-overlay", Opt::kPlainOverlay, 1, kAn},
    {"--proc", Opt::kPlace, 1, kAn},
    {"--exec-label", Opt::kLabel, 1, kAn},
    {"--file-label", Opt::kLabel, 1, kAn},
    {"--dev", Opt::kPlace, 1, kAn},
    {"--tmpfs", Opt::kTmpfs, 1, kAn},
    {"--mqueue", Opt::kPlace, 1, kAn},
    {"--dir", Opt::kDir, 1, kAn},
    {"--file", Opt::kData, 2, kTwo},
    {"--bind-data", Opt::kData, 2, kTwo},
    {"--ro-bind-data", Opt::kData, 2, kTwo},
    {"--symlink", Opt::kSymlink, 2, kTwo},
    {"--lock-file", Opt::kLockFile, 1, kAn},
    {"--sync-fd", Opt::kFd, 1, kAn},
    {"--block-fd", Opt::kFd, 1, kAn},
    {"--userns-block-fd", Opt::kFd, 1, kAn},
    {"--info-fd", Opt::kFd, 1, kAn},
    {"--json-status-fd", Opt::kFd, 1, kAn},
    {"--seccomp", Opt::kSeccomp, 1, kAn},
    {"--add-seccomp-fd", Opt::kAddSeccomp, 1, kAn},
    {"--userns", Opt::kFd, 1, kAn},
    {"--userns2", Opt::kFd, 1, kAn},
    {"--pidns", Opt::kFd, 1, kAn},
    {"--clearenv", Opt::kClearenv, 0, ""},
    {"--setenv", Opt::kSetenv, 2, kTwo},
    {"--unsetenv", Opt::kUnsetenv, 1, kAn},
    {"--uid", Opt::kUid, 1, kAn},
    {"--gid", Opt::kGid, 1, kAn},
    {"--hostname", Opt::kHostname, 1, kAn},
    {"--new-session", Opt::kFlag, 0, ""},
    {"--die-with-parent", Opt::kFlag, 0, ""},
    {"--as-pid-1", Opt::kFlag, 0, ""},
    {"--cap-add", Opt::kCapAdd, 1, kAn},
    {"--cap-drop", Opt::kCapDrop, 1, kAn},
    {"--perms", Opt::kPerms, 1, kAn},
    {"--size", Opt::kSize, 1, kAn},
    {"--chmod", Opt::kChmod, 2, kTwo},
    {"--", Opt::kEnd, 0, ""},
});

constexpr auto kCapabilities = std::to_array<std::string_view>({"chown",
                                                                "dac_override",
                                                                "dac_read_search",
                                                                "fowner",
                                                                "fsetid",
                                                                "kill",
                                                                "setgid",
                                                                "setuid",
                                                                "setpcap",
                                                                "linux_immutable",
                                                                "net_bind_service",
                                                                "net_broadcast",
                                                                "net_admin",
                                                                "net_raw",
                                                                "ipc_lock",
                                                                "ipc_owner",
                                                                "sys_module",
                                                                "sys_rawio",
                                                                "sys_chroot",
                                                                "sys_ptrace",
                                                                "sys_pacct",
                                                                "sys_admin",
                                                                "sys_boot",
                                                                "sys_nice",
                                                                "sys_resource",
                                                                "sys_time",
                                                                "sys_tty_config",
                                                                "mknod",
                                                                "lease",
                                                                "audit_write",
                                                                "audit_control",
                                                                "setfcap",
                                                                "mac_override",
                                                                "mac_admin",
                                                                "syslog",
                                                                "wake_alarm",
                                                                "block_suspend",
                                                                "audit_read",
                                                                "perfmon",
                                                                "bpf",
                                                                "checkpoint_restore"});

}  // namespace

const OptionSpec* find_option(std::string_view name) {
  for (const OptionSpec& spec : kOptions) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

int capability_number(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (std::size_t i = 0; i < kCapabilities.size(); ++i) {
    if (lower == "cap_" + std::string(kCapabilities[i])) return static_cast<int>(i);
  }
  // cap_from_name(3): a number stands for one that has no name yet.
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return is_number && number >= 0 && number < 64 ? number : -1;
}

}  // namespace sbx::bwrap
