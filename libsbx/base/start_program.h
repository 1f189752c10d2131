// SPDX-License-Identifier: Apache-2.0
// Another program as a process of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace sbx {

struct ProgramStart {
  std::vector<std::string> arguments;  // the first without a slash: found by this process's PATH
  char* const* environment = nullptr;  // null: none
  int output = -1;                     // its standard output; -1: /dev/null
  int fourth = -1;                     // its descriptor 3; -1: none
  const char* directory = nullptr;     // its working directory; null: this process's
};

// Has no other descriptor but /dev/null in place of 0 to 2, no signal blocked or ignored, and a
// process group of its own: a terminal's ^C is not for it, and a kill of that group reaches what it
// has started. The caller waits for it. Errors: kSetupFailed naming the call, with its errno.
Result<pid_t> start_program(const ProgramStart& start);

// One of this installation, which serves this process by `fd`, as 3, without an environment.
// Errors: those of companion() and of start_program().
Result<pid_t> start_companion(const std::string& name, int fd);

}  // namespace sbx
