// SPDX-License-Identifier: Apache-2.0
// sbx-run: the verb, and what it is given.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "own_stack.h"
#include "scope.h"
#include "verbs.h"

// In place of libstdc++'s, which would bring a demangler of 50 KB along for a line that nobody is
// meant to see: no exception gets here.
namespace __cxxabiv1 {                                    // NOLINT(bugprone-reserved-identifier)
extern std::terminate_handler __terminate_handler;        // NOLINT(bugprone-reserved-identifier)
std::terminate_handler __terminate_handler = std::abort;  // NOLINT(bugprone-reserved-identifier)
}  // namespace __cxxabiv1

namespace {

struct Verb {
  std::string_view name;
  int (*run)(const sbx::Invocation&);
  std::string_view what;
};

constexpr std::array kVerbs = {
    Verb{"run", sbx::verb_run, "run a command, answer in JSON (the default verb)"},
    Verb{"exec", sbx::verb_exec, "run a command on the caller's own stdin, stdout and stderr"},
    Verb{"start", sbx::verb_start, "start a background task of a session"},
    Verb{"status", sbx::verb_status, "the state of a task and its output so far"},
    Verb{"output", sbx::verb_output, "what a task has written since; --follow as it comes"},
    Verb{"stdin", sbx::verb_stdin, "write to a task's standard input"},
    Verb{"wait", sbx::verb_wait, "wait for a task to end"},
    Verb{"kill", sbx::verb_kill, "end a task"},
    Verb{"list", sbx::verb_list, "the tasks of a session, or all sessions"},
    Verb{"reset", sbx::verb_reset, "end every task of a session"},
    Verb{"call", sbx::verb_call, "one method of the session server"},
    Verb{"serve", sbx::verb_serve, "the session server, JSON-RPC 2.0"},
    Verb{"tool", sbx::verb_tool, "NAME: a tool's params on stdin, its own answer on stdout"},
    Verb{"mcp", sbx::verb_mcp, "an MCP server on stdin and stdout that offers the tools"},
    Verb{"check", sbx::verb_check, "the command policy's verdict; runs nothing"},
    Verb{"explain", sbx::verb_explain, "what would be built; runs nothing"},
    Verb{"doctor", sbx::verb_doctor, "what this machine can enforce"},
    Verb{"profile", sbx::verb_profile, "list, show NAME or validate FILE"},
    Verb{"schema", sbx::verb_schema,
         "profile, request, result, errors or tool NAME, as JSON Schema"},
    Verb{"version", sbx::verb_version, "version, features and libraries"},
};

}  // namespace

namespace sbx {

std::string verbs_help() {
  std::string text =
      "sbx-run [OPTIONS] -- PROGRAM [ARG...]\nsbx-run [OPTIONS] -c COMMAND\n\nVerbs:\n";
  for (const Verb& verb : kVerbs) {
    text += "  " + std::string(verb.name) + std::string(10 - verb.name.size(), ' ') +
            std::string(verb.what) + "\n";
  }
  return text;
}

}  // namespace sbx

namespace {

int argument_count = 0;
char** argument_values = nullptr;

void run_verb() {
  const int argc = argument_count;
  char** const argv = argument_values;
  sbx::Invocation invocation;
  invocation.process = sbx::prepare_process();
  invocation.environment = sbx::read_environment(environ);
  invocation.is_in_scope = invocation.environment.erase(sbx::kInScope) > 0;
  invocation.arguments.assign(argv + std::min(argc, 1), argv + argc);
  invocation.command_line = invocation.arguments;
  auto& arguments = invocation.arguments;
  if (arguments.empty()) arguments.emplace_back("--help");
  if (arguments.front() == "--version") arguments.front() = "version";
  for (const Verb& verb : kVerbs) {
    if (arguments.front() != verb.name) continue;
    arguments.erase(arguments.begin());
    _exit(verb.run(invocation));  // nothing is left to be destroyed that the kernel does not
  }
  _exit(sbx::verb_run(invocation));
}

}  // namespace

int main(int argc, char** argv) {
  argument_count = argc;
  argument_values = argv;
  sbx::run_on_enough_stack(run_verb);
}
