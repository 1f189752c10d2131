// SPDX-License-Identifier: Apache-2.0
// What no profile is given without a person writing it there. The host is asked what a symlink on
// the way of a path leads to, and what a device is.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "learn/grants.h"
#include "learn/secrets.h"

namespace sbx::learn {

// What no program gives away.
struct Guarded {
  std::vector<std::string> homes;  // of the user: the first is ${home}
  std::vector<SecretPlace> secrets;
  FileIds linked;                     // files of secrets that other names lead to
  std::vector<std::string> own;       // of sbx: the profile itself, the state directory
  std::vector<std::string> programs;  // directories that PATH names, by all their names
};

// The directories of a PATH, and what their symlinks lead to.
std::vector<std::string> program_places(const std::string& path);

// What is never granted by a program, and why: empty where it may be.
std::string never_granted(const Grant& grant, const Guarded& guarded);

// Behind symlinks, too.
bool is_directory(const std::string& path);

// Why a file of this kind is no device for a command: empty where it may be one.
std::string why_no_node(mode_t mode, dev_t number);

}  // namespace sbx::learn
