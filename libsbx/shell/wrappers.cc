// SPDX-License-Identifier: Apache-2.0
// Wrappers: the table.
#include "shell/wrappers.h"

#include <algorithm>
#include <iterator>

namespace sbx {
namespace {

constexpr Wrapper kWrappers[] = {
    {"builtin", "", ""},
    {"busybox", "", ""},
    {"toybox", "", ""},
    {"catchsegv", "", ""},
    {"chpst", "uUbemdofpctrlL/", ""},
    {"chronic", "", ""},
    {"chroot", "", " groups userspec ", 1},
    {"chrt", "TPD", " sched-runtime sched-period sched-deadline ", 1, false, "pm"},
    {"command", "", "", 0, false, "vV"},
    {"cpulimit", "lpe", " limit pid exe "},
    {"dbus-run-session", "", " config-file dbus-daemon "},
    {"doas", "uC", ""},
    {"dumb-init", "r", " rewrite "},
    {"eatmydata", "", ""},
    {"env", "uC", " unset chdir ", 0, true},
    {"exec", "a", ""},
    {"fakeroot", "lsifb", " lib faked save-file load-file "},
    {"gosu", "", "", 1},
    {"ionice", "cn", " class classdata ", 0, false, "pPu"},
    {"linux32", "", ""},
    {"linux64", "", ""},
    {"ltrace", "aAeDlnopsuwxFXE", " align output library indent "},
    {"nice", "n", " adjustment "},
    {"nohup", "", ""},
    {"nsenter", "tSG", " target setuid setgid "},
    {"numactl", "iINCmpPSfLo", " interleave cpunodebind membind physcpubind preferred "},
    {"pkexec", "", " user "},
    {"prlimit", "", "", 0, false, "p"},
    {"proxychains", "f", ""},
    {"proxychains4", "f", ""},
    {"rlwrap", "abBcCDfFgHIlmMOpPqsSwz", ""},
    {"setarch", "", "", 1},
    {"setpriv", "",
     " ruid euid reuid rgid egid regid groups inh-caps ambient-caps bounding-set securebits "
     "pdeathsig "
     "selinux-label apparmor-profile "},
    {"setsid", "", ""},
    {"stdbuf", "ioe", " input output error "},
    {"strace", "abeEIoOpPsSuUX",
     " attach output string-limit columns signal trace user env trace-path "},
    {"su-exec", "", "", 1},
    {"sudo", "ugpCDhrtTUR",
     " user group prompt close-from chdir host role type command-timeout other-user chroot ", 0,
     true, "lvkKe"},
    {"systemd-run", "pPuHMEt",
     " unit property description slice uid gid nice setenv working-directory on-active on-boot "
     "on-startup on-unit-active on-unit-inactive on-calendar timer-property machine host "},
    {"taskset", "", "", 1, false, "p"},
    {"time", "fo", " format output "},
    {"timeout", "ks", " kill-after signal ", 1},
    {"tini", "pe", ""},
    {"torsocks", "uaP", ""},
    {"unbuffer", "", ""},
    {"unshare", "SGRw",
     " setuid setgid root wd map-user map-group map-users map-groups propagation setgroups "
     "boottime monotonic "},
    {"valgrind", "", ""},
    {"xvfb-run", "efnpsw", " error-file auth-file server-num xauth-protocol server-args wait "},
};

constexpr Wrapper kDynamicLinker = {
    "ld.so", "", " library-path preload argv0 inhibit-rpath audit glibc-hwcaps-mask "};

}  // namespace

const Wrapper* find_wrapper(std::string_view program) {
  if (program.starts_with("ld-linux") || program.starts_with("ld-musl") || program == "ld.so" ||
      (program.starts_with("ld-") && program.ends_with(".so"))) {
    return &kDynamicLinker;
  }
  const auto* wrapper = std::find_if(std::begin(kWrappers), std::end(kWrappers),
                                     [program](const Wrapper& one) { return one.name == program; });
  return wrapper == std::end(kWrappers) ? nullptr : wrapper;
}

}  // namespace sbx
