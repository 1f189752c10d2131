// SPDX-License-Identifier: Apache-2.0
// sbx-run: the verb, and what it is given.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "host_files/leftovers.h"
#include "own_stack.h"
#include "prepare.h"
#include "rpc/socket_place.h"
#include "scope.h"
#include "verbs.h"

// In place of libstdc++'s, which would bring a demangler of 50 KB along for a line that nobody is
// meant to see: no exception gets here.
namespace __cxxabiv1 {                                    // NOLINT(bugprone-reserved-identifier)
extern std::terminate_handler __terminate_handler;        // NOLINT(bugprone-reserved-identifier)
std::terminate_handler __terminate_handler = std::abort;  // NOLINT(bugprone-reserved-identifier)
}  // namespace __cxxabiv1

namespace {

int argument_count = 0;
char** argument_values = nullptr;

void run_verb() {
  const int argc = argument_count;
  char** const argv = argument_values;
  sbx::Invocation invocation;
  invocation.is_stdin_closed = sbx::prepare_process();
  invocation.environment = sbx::read_environment(environ);
  invocation.is_in_scope = invocation.environment.erase(sbx::kInScope) > 0;
  invocation.arguments.assign(argv + std::min(argc, 1), argv + argc);
  invocation.command_line = invocation.arguments;
  auto& arguments = invocation.arguments;
  if (arguments.empty()) arguments.emplace_back("--help");
  if (arguments.front() == "--version") arguments.front() = "version";
  for (const sbx::Verb& verb : sbx::kVerbs) {
    if (arguments.front() != verb.name) continue;
    arguments.erase(arguments.begin());
    invocation.verb = &verb;
    break;
  }
  const int status = invocation.verb->run(invocation);
  sbx::session_http().end();
  _exit(status);  // the kernel destroys all that is left
}

// Whoever made it was killed.
void remove_what_was_left() {
  sbx::AllLeft left = sbx::Watchdog::read_told();
  for (const std::string& place : left[sbx::Left::kSocket]) {
    sbx::SocketPlace::remove_left(place, left[sbx::Left::kMark]);
  }
  sbx::Leftovers::remove_left(std::move(left));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 0 && argv[0] == sbx::kWatchdogName) {
    remove_what_was_left();
    return 0;
  }
  argument_count = argc;
  argument_values = argv;
  sbx::run_on_enough_stack(run_verb);
}
