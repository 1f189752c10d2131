// SPDX-License-Identifier: Apache-2.0
// The table, and what is made of it.
#include "run_flags.h"

#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "profile/source.h"

namespace sbx {
namespace {

constexpr unsigned kAll = kRunVerb | kExecVerb | kStartVerb | kCallVerb | kToolVerb | kServeVerb |
                          kMcpVerb | kCheckVerb | kExplainVerb;
constexpr unsigned kOneCommand = kRunVerb | kExecVerb | kStartVerb | kCheckVerb | kExplainVerb;
constexpr unsigned kRunning = kAll & ~(kCheckVerb | kExplainVerb);
constexpr unsigned kServers = kStartVerb | kCallVerb | kToolVerb | kServeVerb;
using Run = RunOptions;

// For `start`, --timeout is the task's own.
constexpr RunFlag kFlags[] = {
    {"-c", &Run::command, kOneCommand, 0, "COMMAND", "run through the profile's shell"},
    {"--profile", &Run::profile, kAll, kServers, "NAME|FILE", "what is granted (default: default)",
     FlagPath::kProfile},
    {"--with", &Run::with, kAll, kServers, "PRESET|FILE", "laid over the profile; repeatable",
     FlagPath::kProfile},
    {"--workspace", &Run::workspace, kAll, kServers, "DIR",
     "writable (default: the current directory; of serve, and of a session: own, one of its own)",
     FlagPath::kWorkspace},
    {"--cwd", &Run::cwd, kOneCommand, 0, "DIR", "to start in, relative to the workspace"},
    {"--ro", &Run::ro, kAll, kServers, "PATH", "shown read-only; repeatable", FlagPath::kRoot},
    {"--rw", &Run::rw, kAll, kServers, "PATH", "shown writable; repeatable", FlagPath::kRoot},
    {"--hide", &Run::hide, kAll, kServers, "PATH", "hidden; repeatable"},
    {"--net", &Run::net, kAll, kServers, "MODE", "none, allowlist, outbound or open"},
    {"--allow-host", &Run::allow_hosts, kAll, kServers, "HOST[:PORT]",
     "that may be reached; repeatable"},
    {"--host-port", &Run::host_ports, kAll, kServers, "PORT",
     "inside that leads to the host's 127.0.0.1:PORT; repeatable"},
    {"--publish", &Run::publish, kAll, kServers, "[HOST_PORT:]PORT",
     "a server inside, on the host's 127.0.0.1; repeatable"},
    {"--timeout", &Run::timeout, kAll, kServers & ~kStartVerb, "TIME",
     "wall time, such as 10s, 500ms or 0.5s; none: no limit"},
    {"--memory", &Run::memory, kAll, kServers, "SIZE", "memory of the whole tree, such as 512M"},
    {"--cpu-time", &Run::cpu_time, kAll, kServers, "TIME",
     "CPU time of the whole tree, such as 5s"},
    {"--pids", &Run::pids, kAll, kServers, "COUNT", "processes and threads at the most"},
    {"--file-size", &Run::file_size, kAll, kServers, "SIZE", "of a written file, such as 10M"},
    {"--tmp-size", &Run::tmp_size, kAll, kServers, "SIZE",
     "all private tmpfs together, such as 64M"},
    {"--max-output", &Run::max_output, kAll, kServers, "SIZE", "output kept a stream, such as 64K"},
    {"--env", &Run::env, kAll, kServers, "NAME=VALUE", "set in the environment; repeatable"},
    {"--pass-env", &Run::pass_env, kAll, kServers, "NAME", "passed through; repeatable"},
    {"--scrub", &Run::scrub, kAll, kServers, "MODE", "off, default or strict"},
    {"--stdin", &Run::stdin_source, kRunVerb | kStartVerb, 0, "FILE",
     "standard input; - is sbx-run's own, none is none (default: none)"},
    {"--require", &Run::require, kAll, kServers, "LAYER[,LAYER]", "that must be in force"},
    {"--owner-pid", &Run::owner_pid, kRunning, kServers, "PID",
     "end with this process; 0: with none"},
    {"--description", &Run::description, kRunVerb | kExecVerb | kStartVerb, 0, "TEXT",
     "a few words for the answer"},
    {"--audit", &Run::audit, kRunning, kServers, "FILE", "that one JSON line a run is added to",
     FlagPath::kNew},
    {"--stream", &Run::stream, kRunVerb, 0, "", "JSON lines while it runs, the result last"},
    {"--merge", &Run::merge, kRunVerb | kStartVerb, 0, "",
     "stdout and stderr as one, in the order written"},
    {"--allow-degraded", &Run::allow_degraded, kAll, kServers, "",
     "run with what the kernel gives, never below --require, seccomp and Landlock"},
    {"--scope", &Run::scope, kAll, kServers, "", "limits by a cgroup of our own, asked of systemd"},
    {"--approve", &Run::approve, kRunning, 0, "DIGEST", "of a needs_approval answer: run it once"},
    {"--trace-denials", &Run::trace_denials, kAll, kServers, "",
     "refused file operations in denials too; each such call waits"},
    {"--overlay", &Run::overlay, kAll, kServers, "", "keep writes to rw roots apart and list them"},
};

// In the order of the bits.
constexpr std::array kVerbNames = {"run",   "exec", "start", "call",   "tool",
                                   "serve", "mcp",  "check", "explain"};

std::string verbs_text(unsigned verbs) {
  std::string text;
  for (std::size_t i = 0; i < kVerbNames.size(); ++i) {
    if ((verbs >> i & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(kVerbNames[i]);
  }
  return text;
}

Result<std::string> absolute(const std::string& path, const std::string& flag) {
  Result<std::string> real = real_path(path);
  if (real.ok()) return real;
  const int error = real.error().sys_errno;
  return Error{ErrorCode::kPathNotFound, "no such file: " + path + ": " + errno_text(error), flag,
               "name one that exists", error};
}

Result<std::string> absolute_value(const RunFlag& flag, const std::string& value) {
  if (flag.path == FlagPath::kRoot) return root_from_here(value, flag.name);
  const bool is_path = flag.path == FlagPath::kExisting ||
                       (flag.path == FlagPath::kProfile && is_profile_path(value)) ||
                       (flag.path == FlagPath::kWorkspace && value != kOwnWorkspace);
  if (is_path) return absolute(value, flag.name);
  if (flag.path != FlagPath::kNew || value.starts_with('/')) return value;
  SBX_TRY(const std::string here, absolute(".", flag.name));
  return here + "/" + value;
}

}  // namespace

std::span<const RunFlag> run_flags() { return kFlags; }

void add_run_options(Flags& flags, RunOptions& options, RunVerb verb, const char* no_program) {
  for (const RunFlag& flag : kFlags) {
    if ((flag.verbs & verb) == 0) {
      flags.refuse(flag.name, [](const char* name) {
        for (const RunFlag& known : kFlags) {
          if (std::string_view(known.name) == name) return verbs_text(known.verbs);
        }
        return std::string();
      });
    } else if (const auto* text = std::get_if<std::string Run::*>(&flag.member)) {
      flags.value(flag.name, options.**text, flag.placeholder, flag.help);
    } else if (const auto* list = std::get_if<std::vector<std::string> Run::*>(&flag.member)) {
      flags.values(flag.name, options.**list, flag.placeholder, flag.help);
    } else {
      flags.toggle(flag.name, options.*std::get<bool Run::*>(flag.member), flag.help);
    }
  }
  if (no_program != nullptr) flags.refuse_program(no_program);
}

Result<SessionFlags> session_flags(const RunOptions& options, RunVerb verb) {
  SessionFlags out;
  for (const RunFlag& flag : kFlags) {
    if ((flag.session & verb) == 0) continue;
    std::vector<std::string> values;
    bool is_given = false;
    if (const auto* text = std::get_if<std::string Run::*>(&flag.member)) {
      if (!(options.**text).empty()) values = {options.**text};
    } else if (const auto* list = std::get_if<std::vector<std::string> Run::*>(&flag.member)) {
      values = options.**list;
    } else {
      is_given = options.*std::get<bool Run::*>(flag.member);
    }
    if (values.empty() && !is_given) continue;
    for (std::string& value : values) {
      SBX_TRY(value, absolute_value(flag, value));
    }
    out[flag.name] = std::move(values);
  }
  return out;
}

}  // namespace sbx
