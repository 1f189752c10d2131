// SPDX-License-Identifier: Apache-2.0
// A protected path within a rw root → what must be bound read-only, and which links and directories
// must stay where they are. A `.git` that is a file (a worktree, a submodule) or a symlink is
// followed to the directories that it leads to. Reads only; the child compares device and inode.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

// Of gitrepository-layout(5): names the directory with the settings and hooks that git goes by, and
// settings of one checkout, which count where extensions.worktreeConfig is set.
inline constexpr const char* kGitCommonDirectory = "commondir";
inline constexpr const char* kGitWorktreeSettings = "config.worktree";
// And what a `.git` that is a file begins with: the path of the directory follows.
inline constexpr std::string_view kGitFilePrefix = "gitdir: ";

// Appends to `out`, each path once. `roots` are all roots of the view: what a symlink or a `.git`
// file leads to is protected where it lies in a writable one, and left alone elsewhere, since it
// cannot be written there. A symlink on the way is itself held in place; one that leads nowhere is
// masked. Beside `.git/X`, the files that would lead git to another configuration (`commondir`,
// `config.worktree`) are protected where they exist and reported where they are created; the first
// is taken away at once.
// Errors: kPathRefused for a relative path that escapes.
// A stub that another run holds there counts as missing.
Status resolve_protect(const std::vector<ViewRoot>& roots, const Node& root, const Protect& protect,
                       std::vector<ViewProtect>& out);

// Protects the file at an absolute path, and the symlinks that lead to it, wherever they lie in a
// writable root. Where nothing is, it is reported if something is there afterwards.
Status protect_path(const std::vector<ViewRoot>& roots, const std::string& path,
                    std::vector<ViewProtect>& out);

// A directory of git's that `.git` is not the name of: its configuration and hooks, those of the
// submodules in it, and what would lead git to others.
Status protect_git_directory(const std::vector<ViewRoot>& roots, const std::string& directory,
                             std::vector<ViewProtect>& out);

// What is sbx's own in a writable root, whatever the profile says: `name` below it. A missing one
// cannot be made; it is only reported where nothing can be made, and where it is not at the root's
// top, since directories on the way would be held in place.
Status protect_own(const std::vector<ViewRoot>& roots, const std::string& root,
                   std::string_view name, std::vector<ViewProtect>& out);

// Whether something can be made in a directory, by its owner once he has opened it.
bool may_be_filled(const std::string& directory);

// The mode that marks a stub: an empty directory that holds the place of a missing protected path.
// Others can look into it, whose runs hold it as well; its owner's programs on the host, git among
// them, can put something there, which makes it a directory like any other.
inline constexpr unsigned kStubMode = 01755;
// What cannot be looked at is none: it counts as a directory of the caller's, which is protected.
bool is_stub(const std::string& path);
// The same of what lstat(2) has just told: one that has gone since was one.
bool is_stub(const std::string& path, const struct stat& info);

}  // namespace sbx
