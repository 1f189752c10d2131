// SPDX-License-Identifier: Apache-2.0
// GitUse: what git, started at the top of a writable root, would take its configuration and its
// hooks from, and what stands there. Taken before a command and after it, it tells when git has
// been led elsewhere. Reads only, by descriptor, beneath the roots: no symlink in them is followed
// by the kernel, what they lead to outside is the host's own and is left alone, and every look is
// bounded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/view.h"

namespace sbx {

// Path → what stands there, in a form that is only to be compared.
using GitUse = std::map<std::string, std::string>;

// Whether a policy protects anything of git's.
bool guards_git(const Policy& policy);

// A root counts as a repository of its own where it has the parts of one. A repository within is
// looked at where a `.git` file, a symlink or an entry of the index leads git into it.
GitUse look_at_git(const std::vector<ViewRoot>& roots);

// What git would now use and did not before, changed, or lost; at most kMaxGitChanges of them: what
// git itself looks for first, and the directory that holds the rest in its place.
inline constexpr std::size_t kMaxGitChanges = 64;
std::vector<std::string> git_changes(const GitUse& before, const GitUse& after);

}  // namespace sbx
