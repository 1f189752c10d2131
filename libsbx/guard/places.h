// SPDX-License-Identifier: Apache-2.0
// Places: what a path of a command line means to a policy: known to be the command's own, within a
// root, a device. Paths are followed as text alone; no file is looked at.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "shell/reading.h"

namespace sbx::guard {

// The directories that a command may run in; an empty string stands for one that is not known.
using Directories = std::vector<std::string>;

// `path` from `directory`, without ".", ".." and repeated slashes; "" where the directory is needed
// and not known.
std::string resolve_path(std::string_view path, std::string_view directory);

class Places {
 public:
  // `start` is the directory that the text starts in.
  Places(const Policy& policy, const Request& request, std::string start);

  // The paths that a word may name: one for each directory. nullopt where the text does not tell.
  // `follows`: where that is a link that the text makes, what it leads to as well; behind a slash
  // it is so in any case.
  std::optional<std::vector<std::string>> resolve(const shell::Word& word,
                                                  const Directories& directories,
                                                  bool follows = false) const;
  // The word with its home, temporary or working directory put in; a relative path as it stands,
  // with marks for the names that are bounded. nullopt where a part is made at run time.
  std::optional<std::string> expand(const shell::Word& word) const;

  const std::string& home() const { return home_; }
  bool is_below_repository() const { return policy_.run.is_below_repository; }

  // Links that the text makes to what may be elsewhere: what lies below them is not the command's
  // own.
  void add_links(const shell::Command& command, const Directories& directories);

  // May be removed without being asked about: lies inside the workspace or /tmp, and is neither the
  // one nor the other, nor everything in them, nor a directory that holds the workspace.
  // `takes_what_is_below`: of files that a filter picked, too.
  bool is_known_removal(std::string_view path, bool is_recursive,
                        bool takes_what_is_below = true) const;
  // Whether the sandbox lets it be written, outside of what is the command's own.
  bool is_written_outside(std::string_view path) const;
  // Whether it, or something in it, is such a place.
  bool is_written_outside_below(std::string_view path) const;
  bool is_above_workspace(std::string_view path) const;
  // The workspace or /tmp, or what one of them lies in.
  bool holds_own(std::string_view path) const;
  // /tmp or the private home, where the path lies below it and in no root; else empty.
  std::string private_place(std::string_view path) const;
  // Whether the sandbox lets it be written, as far as roots tell: the command's own, too.
  bool may_write(std::string_view path) const;
  // Whether it, or something in it, can be written and is not the command's own.
  bool may_change_below(std::string_view path) const;
  // A path for people: marks as patterns.
  static std::string shown(std::string path);
  // The workspace and what lies in it, /tmp likewise.
  bool is_own(std::string_view path) const;
  // Within a root of the profile, the workspace, the home or temporary directory, or a device that
  // everybody writes to.
  bool is_in_roots(std::string_view path) const;
  // is_in_roots, or the system base.
  bool is_confined(std::string_view path) const;

  // The most specific one that holds the path, or null.
  const Root* nearest_root(std::string_view path) const;

  // A node below /dev that holds something; not /dev/null, terminals, /dev/shm and the like.
  static bool is_device(std::string_view path);

 private:
  // Made by the text: where, and what it leads to; nullopt: not known.
  struct Link {
    std::string place;
    std::optional<std::vector<std::string>> target;
  };

  // What the view grants at `path`: by the most specific root, or where nothing is said by what the
  // sandbox makes; nullopt: nothing.
  std::optional<Access> access(std::string_view path) const;

  const Policy& policy_;
  std::string home_;
  std::string start_;
  std::string tmp_ = "/tmp";
  std::vector<Link> links_;
  bool var_tmp_is_tmp_ = false;
};

}  // namespace sbx::guard
