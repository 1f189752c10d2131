// SPDX-License-Identifier: Apache-2.0
// The verbs of sbx-run: each takes its arguments and gives the exit status.
#pragma once

#include <string>
#include <vector>

#include "policy/environment.h"
#include "process.h"

namespace sbx {

struct Invocation {
  std::vector<std::string> arguments;     // behind the verb
  std::vector<std::string> command_line;  // all of it but the program's name
  bool is_in_scope = false;               // executed anew, see scope.h
  Environment environment;
  ProcessState process;
};

int verb_run(const Invocation& invocation);
int verb_exec(const Invocation& invocation);
int verb_call(const Invocation& invocation);
int verb_start(const Invocation& invocation);
int verb_status(const Invocation& invocation);
int verb_output(const Invocation& invocation);
int verb_stdin(const Invocation& invocation);
int verb_wait(const Invocation& invocation);
int verb_kill(const Invocation& invocation);
int verb_list(const Invocation& invocation);
int verb_reset(const Invocation& invocation);
int verb_serve(const Invocation& invocation);
int verb_tool(const Invocation& invocation);
int verb_mcp(const Invocation& invocation);
int verb_check(const Invocation& invocation);
int verb_explain(const Invocation& invocation);
int verb_doctor(const Invocation& invocation);
int verb_profile(const Invocation& invocation);
int verb_schema(const Invocation& invocation);
int verb_version(const Invocation& invocation);

// The verbs and what they do, for --help.
std::string verbs_help();

}  // namespace sbx
