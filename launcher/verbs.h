// SPDX-License-Identifier: Apache-2.0
// What a verb is given; each gives the exit status.
#pragma once

#include <string>
#include <vector>

#include "policy/environment.h"
#include "process.h"
#include "verb_table.h"

namespace sbx {

struct Invocation {
  const Verb* verb = kVerbs;
  std::vector<std::string> arguments;     // behind the verb
  std::vector<std::string> command_line;  // all of it but the program's name
  bool is_in_scope = false;               // executed anew, see scope.h
  bool is_stdin_closed = false;           // /dev/null stands in for it
  Environment environment;
};

// JSON was asked for, or stdout is no terminal.
bool wants_json(const Invocation& invocation);

// One line on stderr, and a result that holds the error on stdout where no person reads it. Gives
// the status.
int refuse(const Error& error, const Invocation& invocation, int status = 125);

// The verbs and what they do, for --help.
std::string verbs_help();

// profile grant, as another program. Comes back only with what kept it from being executed.
Error become_grant(const RunOptions& options, const Invocation& invocation);

// What `explain --json` prints, as a page on standard output. Comes back only with what kept it
// from that.
Error become_plan_page(const std::string& plan_json);

}  // namespace sbx
