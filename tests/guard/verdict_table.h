// SPDX-License-Identifier: Apache-2.0
// verdicts.txt → its rows, and the policies that they are held against. The tests ask whether the
// verdicts are right, the benchmark what they cost.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "guard/sample_policy.h"

namespace sbx {

struct VerdictRow {
  std::string policy;
  std::string verdict;
  std::string command;
};

inline std::map<std::string, Policy> verdict_policies() {
  std::map<std::string, Policy> out;
  out["default"] = sample_policy();
  Policy below_tmp = sample_policy();
  below_tmp.sandbox.workspace = "/tmp/runs/w2";
  below_tmp.sandbox.filesystem.roots[0].path = "/tmp/runs/w2";
  out["below_tmp"] = below_tmp;
  Policy listed = sample_policy();
  listed.sandbox.commands.ask.clear();
  // The 33 names and the 8 of the network.
  listed.sandbox.commands.allow = {
      "awk",   "basename", "cat",  "cut", "date",   "dirname", "echo", "env",  "find",
      "grep",  "head",     "jq",   "ls",  "printf", "pwd",     "rg",   "sed",  "sort",
      "tail",  "tr",       "uniq", "wc",  "xargs",  "sleep",   "stat", "test", "true",
      "false", "mkdir",    "rm",   "cp",  "mv",     "touch"};
  listed.sandbox.commands.network_allow = {"curl", "wget", "ping", "nslookup",
                                           "dig",  "ssh",  "scp",  "git"};
  out["bash_exec"] = listed;
  listed.sandbox.network.mode = NetworkMode::kOutbound;
  out["bash_exec_network"] = listed;
  Policy readonly = sample_policy();
  readonly.sandbox.commands.ask.clear();
  readonly.sandbox.commands.readonly = true;
  out["readonly"] = readonly;
  Policy confined = sample_policy();
  confined.sandbox.commands.ask.clear();
  confined.sandbox.commands.confine_paths = true;
  out["confined"] = confined;
  Policy asking = sample_policy();
  asking.sandbox.commands.ask = {"terraform", "git"};
  out["ask_program"] = asking;
  return out;
}

// A row without a policy or a tab comes with an empty policy or verdict.
inline std::vector<VerdictRow> read_verdicts(const std::string& path) {
  std::vector<VerdictRow> rows;
  std::ifstream file(path);
  std::string policy;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("# ")) continue;
    if (line.starts_with("== ")) {
      policy = line.substr(3);
      continue;
    }
    const std::size_t tab = line.find('\t');
    VerdictRow row{policy, tab == std::string::npos ? "" : line.substr(0, tab),
                   line.substr(tab + 1)};
    for (std::size_t at = row.command.find("\\n"); at != std::string::npos;
         at = row.command.find("\\n", at + 1)) {
      // printf's own.
      if (at > 0 && (row.command[at - 1] == '%' || row.command[at - 1] == 's')) continue;
      row.command.replace(at, 2, "\n");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace sbx
