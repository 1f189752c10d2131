// SPDX-License-Identifier: Apache-2.0
// sbx-bwrap: bubblewrap's command line on sbx's launch plan. Reads what the caller is and has, and
// prints bubblewrap's messages; everything else is libsbx/bwrap.
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/files.h"
#include "bwrap/options.h"
#include "bwrap/plan.h"
#include "bwrap/run.h"
#include "bwrap_managed.h"

namespace {

using sbx::bwrap::Caller;
using sbx::bwrap::Options;
using sbx::bwrap::Wanted;

int print(FILE* out, const std::string& text, int status) {
  std::fputs(text.c_str(), out);
  return std::fflush(out) == 0 ? status : 1;
}

int fail(const Options& options, const std::string& message) {
  return print(stderr, (options.level_prefix ? "<3>bwrap: " : "bwrap: ") + message + "\n", 1);
}

bool exists(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0;
}

bool user_namespaces_allowed() {
  const sbx::Result<std::string> count = sbx::read_file("/proc/sys/user/max_user_namespaces", 64);
  return exists("/proc/self/ns/user") && !(count.ok() && count.value() == "0\n");
}

// The permitted or the effective set.
std::uint64_t capabilities(bool permitted) {
  struct __user_cap_header_struct header {
    _LINUX_CAPABILITY_VERSION_3, 0
  };
  struct __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return 0;
  const auto half = [&](int i) -> std::uint64_t {
    return permitted ? data[i].permitted : data[i].effective;
  };
  return half(0) | half(1) << 32;
}

Caller look_at_caller() {
  Caller caller;
  caller.uid = ::getuid();
  caller.gid = ::getgid();
  caller.user_namespaces = user_namespaces_allowed();
  caller.cgroup_namespaces = exists("/proc/self/ns/cgroup");
  const std::unique_ptr<char, void (*)(void*)> cwd(::get_current_dir_name(), std::free);
  caller.cwd = cwd == nullptr ? "/" : cwd.get();
  char terminal[256];
  if (::isatty(STDOUT_FILENO) != 0 && ::ttyname_r(STDOUT_FILENO, terminal, sizeof terminal) == 0) {
    caller.terminal = terminal;
  }
  return caller;
}

int run(Options& options, const Caller& caller) {
  if (const auto status = sbx::bwrap::resolve_sources(options); !status.ok()) {
    return fail(options, status.error().message);
  }
  const auto managed = sbx::read_managed(sbx::kManagedDirectory);
  if (!managed.ok()) return fail(options, managed.error().message);
  if (const auto status = sbx::bwrap::narrow_options(managed.value(), options); !status.ok()) {
    return fail(options, status.error().message);
  }
  if (const auto status = sbx::bwrap::resolve_sources(options); !status.ok()) {
    return fail(options, status.error().message);
  }
  auto programs = sbx::bwrap::read_programs(options);
  if (!programs.ok()) return fail(options, programs.error().message);
  const sbx::LaunchPlan plan = sbx::bwrap::make_plan(options, caller, programs.value());
  const auto status = sbx::bwrap::run_sandbox(options, plan);
  return status.ok() ? status.value() : fail(options, status.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = argc > 0 ? argv[0] : "bwrap";
  Options options;
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (arguments.empty()) return print(stderr, sbx::bwrap::usage_text(program), 1);
  // Ignored, it would swallow the exit status.
  ::signal(SIGCHLD, SIG_DFL);
  const Caller caller = look_at_caller();
  if (caller.uid != 0 && capabilities(true) != 0) {
    return fail(options, "Unexpected capabilities but not setuid, old file caps config?");
  }
  if (caller.uid == 0) options.capabilities = capabilities(false);
  for (char** entry = environ; *entry != nullptr; ++entry) options.environment.emplace_back(*entry);

  const auto wanted = sbx::bwrap::parse_options(arguments, sbx::bwrap::read_all, options);
  for (const std::string& warning : options.warnings) {
    print(stderr, (options.level_prefix ? "<4>bwrap: " : "bwrap: ") + warning + "\n", 0);
  }
  if (!wanted.ok()) return fail(options, wanted.error().message);
  if (wanted.value() == Wanted::kHelp) return print(stdout, sbx::bwrap::usage_text(program), 0);
  if (wanted.value() == Wanted::kVersion) {
    return print(stdout, std::string(sbx::bwrap::kVersionLine) + "\n", 0);
  }
  if (const auto status = sbx::bwrap::check_options(options, caller); !status.ok()) {
    return fail(options, status.error().message);
  }
  if (options.command.empty()) return print(stderr, sbx::bwrap::usage_text(program), 1);
  return run(options, caller);
}
