// SPDX-License-Identifier: Apache-2.0
// The lists.
#include "shell/programs.h"

#include "shell/arguments.h"

namespace sbx::shell {
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

bool is_shell_builtin(std::string_view name) { return is_listed(name, kBuiltins); }

bool is_writing_program(std::string_view name) { return is_listed(name, kWriters); }

}  // namespace sbx::shell
