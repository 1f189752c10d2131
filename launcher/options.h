// SPDX-License-Identifier: Apache-2.0
// The command line and the SBX_* variables → plain values. Everything here is the operator's.
// Values are read by base/text.h, so that messages agree everywhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// What the flags say, as text; one member a flag. flag_table.h and verb_table.h
// name them.
struct RunOptions {
  std::string profile;
  std::vector<std::string> with;
  std::string workspace;
  std::string cwd;
  std::vector<std::string> ro;
  std::vector<std::string> rw;
  std::vector<std::string> hide;
  std::vector<std::string> protect;
  std::string upstream_proxy;
  std::string layer;
  std::string template_dir;
  bool keep_layers = false;
  std::vector<std::string> arguments;  // words behind those that a verb names
  std::vector<std::string> theirs;
  std::vector<std::string> ours;
  std::string root;
  bool stat = false;
  std::string out;  // of report
  bool html = false;
  bool name_only = false;
  bool dry_run = false;
  bool undo = false;
  std::string net;
  std::vector<std::string> allow_hosts;
  std::vector<std::string> host_ports;
  std::vector<std::string> publish;
  std::string timeout;
  std::string memory;
  std::string cpu_time;
  std::string pids;
  std::string file_size;
  std::string tmp_size;
  std::string max_output;
  std::vector<std::string> env;
  std::vector<std::string> pass_env;
  std::string scrub;
  std::string stdin_source;
  std::vector<std::string> require;
  std::string owner_pid;
  std::string command;
  std::string description;
  std::string audit;
  std::string approve;
  std::string result_file;
  std::string result_fd;
  std::string session;
  std::string idle;
  std::string socket;
  std::string fd;
  std::string params_file;
  std::vector<std::string> tools;
  std::string task_id;
  std::string since;
  std::string match;
  std::string text;
  std::string grace;
  std::string keys;
  std::string columns;
  std::string rows;
  std::string detach_key;
  bool pty = false;
  std::string what;  // of several things that a verb does
  std::string name;  // of a tool, a profile
  std::string format;
  std::string output_format;
  std::string color;
  std::string tasks;
  std::string results;
  std::string jobs;
  std::string retries;
  std::string shard;
  std::string order;
  std::string on;
  std::string nodes;
  std::string partition;
  bool resume = false;
  bool resume_failed = false;
  bool fail_fast = false;
  std::string from;  // a result
  std::string merge_file;
  bool yes = false;
  bool follow = false;
  bool close = false;
  bool apparmor = false;
  bool merge = false;
  bool stream = false;
  bool allow_degraded = false;
  bool overlay = false;
  bool trace_denials = false;
  bool is_exec = false;  // a shipped profile's time limit does not count
  bool scope = false;
  bool json = false;
  std::vector<std::string> program;  // what stands behind `--`
};

// The value of --timeout that means no limit.
inline constexpr std::string_view kNoTimeout = "none";

// Flags over SBX_* variables. Errors: kBadFlag naming the flag or variable.
Result<OperatorFlags> operator_flags(const RunOptions& options, const Environment& environment);

// As --net and --scrub name them, separated by ", ".
std::string network_names();
std::string scrub_names();

// With every symlink resolved. Errors: kPathNotFound, said of the flag `where`.
Result<std::string> current_directory(const std::string& where);
// From here, as it is written: what it names need not be there.
Result<std::string> absolute_path(const std::string& path, const std::string& where);

// The path of a root as it is given on the command line: relative to the current directory.
// Errors: kPathRefused for "..".
Result<std::string> root_from_here(const std::string& path, const std::string& where);

// --host-port, as numbers. Errors: kBadFlag.
Result<std::vector<int>> parse_host_ports(const std::vector<std::string>& values);

// "a=b" → {"a", "b"}. Errors: kBadFlag.
Result<std::pair<std::string, std::string>> parse_assignment(const std::string& text);

}  // namespace sbx
