// SPDX-License-Identifier: Apache-2.0
// Wrappers: the table.
#include "shell/wrappers.h"

#include <algorithm>
#include <iterator>

namespace sbx::shell {
namespace {

constexpr Wrapper kWrappers[] = {
    {"aarch64", "", ""},
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
    {"cross-env", "", "", 0, true},
    {"datefudge", "", "", 1},
    {"dbus-run-session", "", " config-file dbus-daemon "},
    {"doas", "uC", ""},
    {"dumb-init", "r", " rewrite "},
    {"eatmydata", "", ""},
    {"exec", "a", ""},
    {"faketime", "", "", 1},
    {"fakeroot", "lsifb", " lib faked save-file load-file "},
    {"gosu", "", "", 1},
    {"ionice", "cn", " class classdata ", 0, false, "pPu"},
    {"i386", "", ""},
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
    {"setarch", "", "", 0, false, "", true},
    {"setpriv", "",
     " ruid euid reuid rgid egid regid groups inh-caps ambient-caps bounding-set securebits "
     "pdeathsig "
     "selinux-label apparmor-profile "},
    {"setsid", "", ""},
    {"ssh-agent", "aEOPt", "", 0, false, "k"},
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
    {"uname26", "", ""},
    {"unbuffer", "", ""},
    {"unshare", "SGRw",
     " setuid setgid root wd map-user map-group map-users map-groups propagation setgroups "
     "boottime monotonic "},
    {"valgrind", "", ""},
    {"x86_64", "", ""},
    {"xvfb-run", "efnpsw", " error-file auth-file server-num xauth-protocol server-args wait "},
};

constexpr Launcher kLaunchers[] = {
    {"asdf", "exec", "", ""},
    {"aws-vault", "exec", "tdnp", " duration region mfa-token prompt backend ", 1},
    {"bun", "x", "", ""},
    {"bundle", "exec", "", " gemfile "},
    {"bundler", "exec", "", " gemfile "},
    {"bunx", "", "p", " package "},
    {"chamber", "exec", "br", " backend retries ", 1},
    {"conda", "run", "np", " name prefix cwd "},
    {"direnv", "exec", "", "", 1},
    {"doppler", "run", "pct", " project config token command ", 0, "command"},
    {"dotenv", "?run", "efvp", " file env "},
    {"dotenvx", "run", "fe", " env-file env "},
    {"guix", "shell environment", "", "", 0, "", true},
    {"hatch", "run", "ep", " env project "},
    {"infisical", "run", "ep", " env path projectId token command ", 0, "command"},
    {"mamba", "run", "np", " name prefix cwd "},
    {"micromamba", "run", "np", " name prefix root-prefix cwd "},
    {"mise", "exec x", "cCEj", " command cd env jobs ", 0, "c command", true},
    {"npm", "exec x", "cpw", " call package workspace ", 0, "c call"},
    {"npx", "", "cp", " call package ", 0, "c call"},
    {"op", "run", "", " env-file account "},
    {"pdm", "run", "p", " project venv site-packages "},
    {"pipenv", "run", "", " python pypi-mirror "},
    {"pipx", "run", "", " spec pip-args python "},
    {"pnpm", "exec dlx", "cCF", " package dir filter ", 0, "c"},
    {"pnpx", "", "c", " package ", 0, "c"},
    {"poetry", "run", "CP", " directory project "},
    {"pyenv", "exec", "", ""},
    {"rbenv", "exec", "", ""},
    {"rustup", "run", "", "", 1},
    {"uv", "run", "pwf",
     " python with with-editable with-requirements extra group only-group package directory "
     "project env-file index default-index "},
    {"uvx", "", "pw", " python from with "},
    {"yarn", "exec dlx", "p", " package cwd "},
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

const Launcher* find_launcher(std::string_view program) {
  const auto* launcher =
      std::find_if(std::begin(kLaunchers), std::end(kLaunchers),
                   [program](const Launcher& one) { return one.name == program; });
  return launcher == std::end(kLaunchers) ? nullptr : launcher;
}

}  // namespace sbx::shell
