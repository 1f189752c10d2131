// SPDX-License-Identifier: Apache-2.0
// Places: what a path of a command line means to a policy: known to be the command's own, within a
// root, a device. Paths are followed as text alone; no file is looked at.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard/reading.h"
#include "policy/policy.h"

namespace sbx {

// The directories that a command may run in; an empty string stands for one that is not known.
using Directories = std::vector<std::string>;

// `path` from `directory`, without ".", ".." and repeated slashes; "" where the directory is needed
// and not known.
std::string resolve_path(std::string_view path, std::string_view directory);

class Places {
 public:
  Places(const Policy& policy, std::string_view text)
      : policy_(policy), text_(text), home_(command_home(policy)) {}

  // The paths that a word may name: one for each directory. nullopt where the text does not tell.
  std::optional<std::vector<std::string>> resolve(const Word& word,
                                                  const Directories& directories) const;
  // The word with ~, $HOME, $PWD and $TMPDIR at its start put in; a relative path as it stands.
  // nullopt where a part is made at run time.
  std::optional<std::string> expand(const Word& word) const;

  const std::string& home() const { return home_; }

  // May be removed without being asked about: lies inside the workspace or /tmp, and is neither the
  // one nor the other, nor everything in them, nor a directory that holds the workspace.
  bool is_known_removal(std::string_view path) const;
  // The workspace and what lies in it, /tmp likewise.
  bool is_own(std::string_view path) const;
  // Within a root of the profile, the workspace, the home or temporary directory, or a device that
  // everybody writes to.
  bool is_in_roots(std::string_view path) const;
  // is_in_roots, or the system base.
  bool is_confined(std::string_view path) const;

  // A node below /dev that holds something; not /dev/null, terminals, /dev/shm and the like.
  static bool is_device(std::string_view path);

 private:
  std::string_view raw(const Word& word) const;

  const Policy& policy_;
  std::string_view text_;
  std::string home_;
};

}  // namespace sbx
