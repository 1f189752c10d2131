// SPDX-License-Identifier: Apache-2.0
// The repository that a workspace belongs to and does not hold (a linked worktree's, a submodule's,
// that of a directory above) → what of it is shown, so that git works. A `.git` file in a workspace
// may have been written by an earlier command: only a repository that names the workspace in turn
// is shown. Reads only.
#pragma once

#include <string_view>

#include "base/result.h"
#include "host/view.h"
#include "policy/policy.h"

namespace sbx {

// The operation of a denial that names a repository, or a part of it, that is not shown.
inline constexpr std::string_view kGitOutside = "git_outside";
// And of one that names settings which are included from what is not shown.
inline constexpr std::string_view kGitInclude = "git_include";
// And those of hooks, ignored files or templates that are not shown, and remotes.
inline constexpr std::string_view kGitSetting = "git_setting";
inline constexpr std::string_view kGitRemote = "git_remote";

// What commits in a linked worktree, and their upkeep, write in the repository that it shares.
bool is_shared_in_git(std::string_view name);

// Adds to view.roots, view.protects, view.git_shown and view.git_denied. Errors: kPathRefused where
// what is there cannot be looked at.
Status add_git_outside(const Policy& policy, View& view);

}  // namespace sbx
