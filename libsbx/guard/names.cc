// SPDX-License-Identifier: Apache-2.0
// The lists, and how a name is held against a pattern.
#include "guard/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "guard/arguments.h"
#include "guard/rule.h"

namespace sbx {
namespace {

constexpr std::string_view kBuiltins =
    ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare "
    "dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill "
    "let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt "
    "source suspend test times trap true type typeset ulimit umask unalias unset wait [[ ((";

constexpr std::string_view kWriters =
    "rm mv cp mkdir rmdir chmod chown chgrp touch ln install dd tee truncate unlink shred mkfifo "
    "mknod mktemp rsync patch fallocate setfacl chattr split csplit";

}  // namespace

bool matches_name(std::string_view pattern, std::string_view program) {
  pattern = base_name(pattern);
  program = base_name(program);
  if (pattern.find_first_of("*?[") == std::string_view::npos) return pattern == program;
  return fnmatch(std::string(pattern).c_str(), std::string(program).c_str(), 0) == 0;
}

bool is_denied_name(const std::vector<std::string>& more, std::string_view program) {
  const auto matches = [&](std::string_view pattern) { return matches_name(pattern, program); };
  return std::any_of(std::begin(kDeniedCommands), std::end(kDeniedCommands), matches) ||
         std::any_of(more.begin(), more.end(), matches);
}

bool is_shell_builtin(std::string_view name) { return is_listed(name, kBuiltins); }

bool is_writing_program(std::string_view name) { return is_listed(name, kWriters); }

}  // namespace sbx
