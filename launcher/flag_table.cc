// SPDX-License-Identifier: Apache-2.0
// The table, and what is made of it.
#include "flag_table.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "profile/source.h"
#include "rpc/methods.h"
#include "tools/tool.h"

namespace sbx {
namespace {

using Run = RunOptions;
using enum ValueKind;

constexpr VerbBits kCommand = verb_bits("run exec start check explain");
constexpr VerbBits kRunning = verb_bits("run exec start shell call tool serve mcp batch");
constexpr VerbBits kAll = kRunning | verb_bits("check explain");
constexpr VerbBits kServers = verb_bits("start shell call tool serve batch");
constexpr VerbBits kNamed = verb_bits("start shell call tool serve");  // by --session
constexpr VerbBits kBatch = verb_bits("batch");
constexpr VerbBits kLayer = verb_bits("layer");
constexpr VerbBits kProfileVerb = verb_bits("profile");
constexpr VerbBits kLearn = verb_bits("learn");
constexpr VerbBits kTrust = verb_bits("trust untrust");
constexpr VerbBits kTasks =
    verb_bits("status output stdin attach screen resize wait kill list reset");

// For `start`, --timeout is the task's own.
constexpr FlagRow kFlags[] = {
    {"-c", &Run::command, kCommand | kLearn | verb_bits("shell"), 0, "COMMAND",
     "run through the profile's shell", kCommandLine},
    {"--profile", &Run::profile, kAll | kLayer | kLearn, kServers, "NAME|FILE",
     "what is granted (default: default)", kProfile, "A tool's name stands for that tool's."},
    {"--with", &Run::with, kAll | kLearn, kServers, "PRESET|FILE",
     "laid over the profile; repeatable", kProfile,
     "sbx-run profile list says what each preset opens. A preset only adds; a file, or a profile's "
     "name, is laid over as a parent is."},
    {"--workspace", &Run::workspace, kAll | kLayer | kTrust | kLearn, kServers, "DIR",
     "writable (default: the current directory; of serve: own, one of its own)", kWorkspace,
     "The writable root of most profiles; a session that start starts works in the current "
     "directory too. / and what lies below /usr, /bin, /sbin, /lib*, /etc, /var (but /var/tmp), "
     "/opt, /boot, /dev, /proc and /sys are refused unless they are named. With this option a "
     "command starts in the current directory where that lies within the workspace, else in the "
     "workspace; a current directory that the policy does not show is an error."},
    {"--cwd", &Run::cwd, kCommand | verb_bits("shell"), 0, "DIR",
     "to start in, relative to the workspace", kDirectory,
     "One that the policy does not show is an error."},
    {"--ro", &Run::ro, kAll, kServers, "PATH", "shown read-only; repeatable", kPath,
     "May be relative to the current directory. A missing path is an error, here and below."},
    {"--rw", &Run::rw, kAll, kServers, "PATH", "shown writable; repeatable", kPath,
     "May be relative to the current directory."},
    {"--hide", &Run::hide, kAll, kServers, "PATH", "hidden; repeatable", kFile,
     "May be relative to the workspace."},
    {"--protect", &Run::protect, kAll, kServers, "FILE",
     "not to be changed by commands, whatever root holds it; repeatable", kNewFile},
    {"--net", &Run::net, kAll, kServers, "MODE", "the network", kNetwork,
     "None at all, what the profile and --allow-host list, outbound connections only, or the "
     "host's own."},
    {"--allow-host", &Run::allow_hosts, kAll, kServers, "HOST[:PORT]",
     "that may be reached; repeatable", kHost,
     "And nothing else that is not listed; without PORT, its ports 80 and 443."},
    {"--host-port", &Run::host_ports, kAll, kServers, "PORT",
     "inside that leads to the host's 127.0.0.1:PORT; repeatable", kText, "So does its ::1."},
    {"--upstream-proxy", &Run::upstream_proxy, kAll, kServers, "URL",
     "an HTTP proxy that connections outside go through", kText,
     "http://[USER:PASSWORD@]HOST:PORT, by CONNECT, without resolving names here. "
     "SBX_UPSTREAM_PROXY says the same and is not seen by other users."},
    {"--publish", &Run::publish, kAll, kServers, "[HOST_PORT:]PORT",
     "a server inside, on the host's 127.0.0.1; repeatable"},
    {"--timeout", &Run::timeout, kAll, kServers & ~verb_bits("start shell"), "TIME",
     "wall time, such as 10s, 500ms or 0.5s; none: no limit", kText,
     "With exec the limit of a shipped profile does not count, only this one and that of a profile "
     "of one's own."},
    {"--memory", &Run::memory, kAll, kServers, "SIZE", "memory of the whole tree, such as 512M",
     kText, "A number without a unit is bytes, and refused below 16 MiB."},
    {"--cpu-time", &Run::cpu_time, kAll, kServers, "TIME",
     "CPU time of the whole tree, such as 5s"},
    {"--pids", &Run::pids, kAll, kServers, "COUNT", "processes and threads at the most"},
    {"--file-size", &Run::file_size, kAll, kServers, "SIZE", "of a written file, such as 10M"},
    {"--tmp-size", &Run::tmp_size, kAll, kServers, "SIZE",
     "all private tmpfs together, such as 64M"},
    {"--max-output", &Run::max_output, kAll & ~verb_bits("exec"), kServers, "SIZE",
     "output kept a stream, such as 64K", kText,
     "The head and the tail, with exact counts of what lies between."},
    {"--env", &Run::env, kAll, kServers, "NAME=VALUE", "set in the environment; repeatable"},
    {"--pass-env", &Run::pass_env, kAll, kServers, "NAME", "passed through; repeatable", kVariable,
     "If it is set."},
    {"--scrub", &Run::scrub, kAll, kServers, "MODE", "of the environment", kScrub,
     "What is removed: nothing, credentials and names known as sensitive, or all but safe names."},
    {"--stdin", &Run::stdin_source, verb_bits("run start"), 0, "FILE",
     "standard input; - is sbx-run's own, none is none (default: none; of start, what stdin "
     "writes)",
     kFile,
     "A regular file, a character device or a FIFO, whose writer is waited for as long as the time "
     "limit of the run; /dev/stdin and /dev/fd/N are the caller's descriptors."},
    {"--require", &Run::require, kAll, kServers, "LAYER[,LAYER]", "that must be in force", kLayers,
     "Without one of them the command does not start."},
    {"--owner-pid", &Run::owner_pid, kRunning & ~kBatch, kServers & ~kBatch, "PID",
     "end with this process; 0: with none", kProcess,
     "Without it the run is tied to the parent that it finds when it starts: one that died before "
     "that, in the first milliseconds, is not noticed."},
    {"--description", &Run::description, verb_bits("run exec start"), 0, "TEXT",
     "a few words for the answer", kText, "And for the audit record."},
    {"--audit", &Run::audit, kRunning | kLayer, kServers, "FILE",
     "that one JSON line a run is added to", kNewFile},
    {"--stream", &Run::stream, verb_bits("run"), 0, "",
     "JSON lines while it runs, the result last"},
    {"--merge", &Run::merge, verb_bits("run start"), 0, "",
     "stdout and stderr as one, in the order written"},
    {"--allow-degraded", &Run::allow_degraded, kAll, kServers, "",
     "run with what the kernel gives, never below --require, seccomp and Landlock", kText,
     "Where the kernel refuses a layer that is not required. Without --require it also lowers what "
     "the profile requires to what can be had. The result names what is missing."},
    {"--scope", &Run::scope, kAll, kServers, "", "limits by a cgroup of our own, asked of systemd",
     kText,
     "By systemd-run(1), so that memory and processes are limited by the kernel itself. Where a "
     "cgroup is delegated already, there is nothing to ask for."},
    {"--approve", &Run::approve, kRunning & ~kBatch, 0, "DIGEST",
     "of a needs_approval answer: run it once", kText, "Within ten minutes of that answer."},
    {"--trace-denials", &Run::trace_denials, kAll, kServers, "",
     "refused file operations in denials too; each such call waits", kText,
     "With the setting that would allow each. Every call that names a file waits some "
     "microseconds for that."},
    {"--overlay", &Run::overlay, kAll, kServers, "", "keep writes to rw roots apart and list them"},
    {"--layer", &Run::layer, kAll, kServers, "NAME",
     "keep writes to rw roots apart, in this layer of the workspace", kLayerName,
     "Made where there is none, and kept: later runs with it see what was written. sbx-run layer "
     "shows, commits, and throws away what it holds."},
    {"--template", &Run::template_dir, verb_bits("batch serve"), verb_bits("batch serve"), "DIR",
     "workspace in which every command has a layer of its own, thrown away at its end", kDirectory,
     "The directory itself stays as it is. Each result has `layer` and `changes`."},
    {"--keep-layers", &Run::keep_layers, verb_bits("batch serve"), verb_bits("batch serve"), "",
     "with --template: the layers stay; each result names its own", kText,
     "sbx-run layer diff NAME --workspace DIR shows what a command wrote."},
    {"--result-file", &Run::result_file, verb_bits("exec"), 0, "FILE", "for the JSON answer",
     kFile},
    {"--result-fd", &Run::result_fd, verb_bits("exec"), 0, "N", "descriptor for the JSON answer"},
    {"--session", &Run::session, kTasks | kNamed | verb_bits("top"), 0, "NAME",
     "of the session (default: default; list, top: all; call, tool: one for this call alone)",
     kText, "One that serve is to serve."},
    {"--idle", &Run::idle, verb_bits("start shell serve"), verb_bits("start shell serve"), "TIME",
     "leave after this long with neither tasks nor clients (default: 10s)"},
    {"--socket", &Run::socket, verb_bits("serve"), 0, "PATH", "of a Unix socket to serve on",
     kFile},
    {"--fd", &Run::fd, verb_bits("serve"), 0, "N", "descriptor, a connected socket to serve on"},
    {"--params", &Run::params_file, verb_bits("call tool"), 0, "FILE",
     "with the parameters (default: -, stdin)", kFile},
    {"--tool", &Run::tools, verb_bits("mcp"), 0, "NAME",
     "that is offered; repeatable (default: all)", kTool},
    {"--results", &Run::results, kBatch, 0, "FILE", "one result a line (default: -, stdout)", kFile,
     "A file that exists is refused without --resume."},
    {"--resume", &Run::resume, kBatch, 0, "", "go on: what the results have is not done again",
     kText, "With --resume=failed what they say has failed is."},
    {"--resume-failed", &Run::resume_failed, kBatch, 0, "", "the same as --resume=failed"},
    {"--jobs", &Run::jobs, kBatch, 0, "N", "at a time (default: one a processor)"},
    {"--retries", &Run::retries, kBatch, 0, "N", "after errors of our own that can pass", kText,
     "Never after a command's own failure, nor for what is no request."},
    {"--fail-fast", &Run::fail_fast, kBatch, 0, "", "begin nothing more after the first failure"},
    {"--shard", &Run::shard, kBatch, 0, "I/N", "only these lines: the Ith of N parts, from 1"},
    {"--order", &Run::order, kBatch, 0, "ORDER", "of the results (default: end)", kOrder},
    {"--on", &Run::on, kBatch, 0, "CLUSTER", "where: slurm, as one job", kText,
     "Each node has a workspace of its own, unless --workspace names one that all of them share."},
    {"--nodes", &Run::nodes, kBatch, 0, "N", "of the cluster (default: 1)"},
    {"--partition", &Run::partition, kBatch, 0, "NAME", "of the cluster"},
    {"--since", &Run::since, verb_bits("output"), 0, "OFFSET",
     "from this offset on: the \"next\" of the last answer"},
    {"--follow", &Run::follow, verb_bits("output"), 0, "", "JSON lines until it ends"},
    {"--match", &Run::match, verb_bits("output"), 0, "REGEX",
     "only lines that match this (RE2); implies --follow"},
    {"--text", &Run::text, verb_bits("stdin"), 0, "TEXT",
     "to write, with a newline unless it is empty"},
    {"--keys", &Run::keys, verb_bits("stdin"), 0, "KEYS", "to press, such as \"Up Escape F1 C-c\"",
     kText,
     "Of a task with a terminal. C-, M- and S- stand for Ctrl, Alt and Shift, one character for "
     "itself; with --text they come behind the text, without a newline."},
    {"--pty", &Run::pty, verb_bits("start"), 0, "", "give the task a terminal of its own", kText,
     "attach, screen, resize and stdin --keys are for such tasks. TERM is xterm-256color."},
    {"--cols", &Run::columns, verb_bits("start resize"), 0, "N",
     "width of the terminal (of a new one, by default: 80)"},
    {"--rows", &Run::rows, verb_bits("start resize"), 0, "N",
     "height of the terminal (of a new one, by default: 24)"},
    {"--detach-key", &Run::detach_key, verb_bits("attach shell"), 0, "KEY",
     "to leave the task to itself (default: ctrl-])", kText,
     "ctrl- and a letter or one of @[\\]^_, or a character."},
    {"--close", &Run::close, verb_bits("stdin"), 0, "", "end of file behind it"},
    {"--timeout", &Run::timeout, verb_bits("wait"), 0, "TIME", "how long at the most, such as 10s"},
    {"--grace", &Run::grace, verb_bits("kill reset"), 0, "TIME",
     "between SIGTERM and SIGKILL (default: 2s)"},
    {"--apparmor", &Run::apparmor, verb_bits("doctor"), 0, "",
     "only the AppArmor profile, to install on Ubuntu 24.04"},
    {"--for", &Run::format, verb_bits("schema"), 0, "FORMAT", "of a tool (default: mcp)",
     kToolFormat},
    {"--format", &Run::output_format, verb_bits("run"), 0, "FORMAT", "of the answer", kOutputFormat,
     "As text the command's own output comes as it is written, and below it, on standard error, "
     "an account of the run. auto (the default): text where standard output is a terminal, else "
     "JSON."},
    {"--color", &Run::color, verb_bits("run"), 0, "WHEN", "colours", kColor,
     "Of the account, and those of the command on a terminal. auto (the default): on terminals, "
     "unless NO_COLOR is set. A terminal of the type dumb gets no escapes at all."},
    {"--merge", &Run::merge_file, kLearn, 0, "FILE", "a profile to add to", kFile,
     "Nothing is taken out of it. Without --out it is written there."},
    {"--from", &Run::from, kProfileVerb, 0, "RESULT.json",
     "with grant: whose denials (default: -, standard input)", kFile},
    {"--yes", &Run::yes, kProfileVerb | kLearn, 0, "", "write without asking"},
    {"--stat", &Run::stat, kLayer, 0, "", "with diff: how much of each file"},
    {"--name-only", &Run::name_only, kLayer, 0, "", "with diff: only the paths"},
    {"--root", &Run::root, kLayer, 0, "DIR", "with diff: of this root (default: the workspace)",
     kDirectory},
    {"--dry-run", &Run::dry_run, kLayer, 0, "", "with commit: say what would be done"},
    {"--undo", &Run::undo, kLayer, 0, "", "with commit: take back one that was not finished", kText,
     "Without such a one, the last commit is taken back, as undo does."},
    {"--ours", &Run::ours, kLayer, 0, "PATH",
     "with commit: keep the real file, the layer forgets its own; repeatable", kFile},
    {"--theirs", &Run::theirs, kLayer, 0, "PATH",
     "with commit: take the layer's, whatever the real file has become; repeatable", kFile},
    {"--out", &Run::out, verb_bits("report learn"), 0, "FILE",
     "for the page, or the profile (default: stdout)", kFile,
     "Replaced once the page is whole; a symlink is refused."},
    {"--html", &Run::html, verb_bits("explain"), 0, "", "as a page"},
    {"--json", &Run::json,
     verb_bits("run start shell check explain doctor profile cache version layer") | kTasks |
         kTrust | kLearn,
     0, "", "as JSON", kText,
     "run, check, learn, trust, untrust, profile validate and the verbs of tasks answer so "
     "wherever "
     "standard output is no terminal."},
};

Result<std::string> absolute(const std::string& path, const FlagRow& flag) {
  Result<std::string> real = real_path(path);
  if (real.ok()) return real;
  const int error = real.error().sys_errno;
  const std::string kind = flag.kind == kWorkspace ? "directory" : "file";
  return call_failed(ErrorCode::kPathNotFound, "no such " + kind + ": " + path, flag.name,
                     "name one that exists", error);
}

Result<std::string> absolute_value(const FlagRow& flag, const std::string& value) {
  switch (flag.kind) {
    case kPath:
      return root_from_here(value, flag.name);
    case kProfile:
      return is_profile_path(value) ? absolute(value, flag) : value;
    case kWorkspace:
      return value != kOwnWorkspace ? absolute(value, flag) : value;
    case kNewFile:
      return absolute_path(value, flag.name);
    default:
      return value;
  }
}

}  // namespace

std::span<const FlagRow> flag_rows() { return kFlags; }

std::string value_names(ValueKind kind) {
  switch (kind) {
    case kNetwork:
      return network_names();
    case kScrub:
      return scrub_names();
    case kLayers:
      return join(kLayerNames, ", ");
    case kTool:
      return join(tool_names(), ", ");
    case kMethod:
      return join(method_names(), ", ");
    case kToolFormat:
      return "anthropic, openai, mcp";
    case kProfileAction:
      return "list, show, validate, grant";
    case kCacheAction:
      return "list, clear";
    case kOutputFormat:
      return "auto, text, json";
    case kColor:
      return "auto, always, never";
    case kLayerAction:
      return "list, diff, commit, undo, discard, checkpoint, rollback, branch";
    case kSchema:
      return "profile, managed, request, result, errors, tool";
    case kOrder:
      return "end, input";
    case kVerb:
      return verbs_text(~VerbBits{0});
    default:
      return "";
  }
}

std::string whole_help(const char* help, ValueKind kind) {
  const std::string names = value_names(kind);
  const char* const between = *help == '\0' || names.empty() ? "" : ": ";
  return help + (between + names);
}

std::string nearest_value(const std::string& word, ValueKind kind, const char* otherwise) {
  const std::string names = value_names(kind);
  std::vector<std::string_view> known = split(names, ',');
  for (std::string_view& name : known) name.remove_prefix(name.starts_with(' ') ? 1 : 0);
  const auto nearest = nearest_name(word, known);
  return nearest ? "did you mean " + std::string(*nearest) + "?" : otherwise;
}

std::string verbs_text(VerbBits verbs) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    if ((verbs & verb_bit(verb)) != 0) names.emplace_back(verb.name);
  }
  return join(names, ", ");
}

Result<SessionFlags> given_flags(const RunOptions& options, const Verb& verb, FlagUse use) {
  SessionFlags out;
  for (const FlagRow& flag : kFlags) {
    const bool fixes_session = (flag.session & verb_bit(verb)) != 0;
    const bool is_own = !fixes_session && (flag.verbs & verb_bit(verb)) != 0;
    if (use == FlagUse::kSession ? !fixes_session : !is_own) continue;
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
