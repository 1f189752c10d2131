// SPDX-License-Identifier: Apache-2.0
// The text of git's own files → what of it leads git to other files: gitlinks of an index, included
// configuration and the directory of hooks of a configuration. Pure; the bytes are not trusted, and
// what git itself would not read gives nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/git_setting.h"

namespace sbx {

// The lines of a configuration.
std::vector<GitSetting> read_git_settings(std::string_view text);

// Of a user's configuration what says who he is and how git is to look and behave: nothing that
// holds a secret, runs a program or leads to another file. As a configuration again.
std::string shareable_git_config(std::string_view text);

struct GitConfigPaths {
  std::vector<std::string> includes;      // of include.path and includeIf.*.path, conditions or not
  std::optional<std::string> hooks_path;  // the last core.hooksPath
  std::optional<std::string> work_tree;   // the last core.worktree
  bool has_sha256 = false;                // extensions.objectFormat
  bool has_worktree_settings = false;     // extensions.worktreeConfig, whatever its value
};
GitConfigPaths read_git_config(std::string_view text);

struct Gitlinks {
  std::vector<std::string> paths;  // relative to the top of the work tree
  std::string shared;              // hex name of a shared index that this one builds on
  bool is_whole = true;            // false: there are more, or ones without a name
};
// gitformat-index(5), versions 2 to 4; at most `max` of them.
Gitlinks read_gitlinks(std::string_view index, std::size_t id_bytes, std::size_t max);

}  // namespace sbx
