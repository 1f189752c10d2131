// SPDX-License-Identifier: Apache-2.0
// Programs that a shell has built in, and those whose work is to write.
#pragma once

#include <string_view>

namespace sbx::shell {

// What a shell runs by itself: bash's builtins.
bool is_shell_builtin(std::string_view name);

// Programs whose work is to write, refused where commands.readonly is set.
bool is_writing_program(std::string_view name);

}  // namespace sbx::shell
