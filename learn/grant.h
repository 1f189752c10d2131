// SPDX-License-Identifier: Apache-2.0
// `profile grant`: the grants of a result's denials, into a profile's file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "profile/store.h"

namespace sbx::learn {

struct GrantOptions {
  std::string file;      // the profile
  std::string from;      // the result; empty or "-": standard input
  bool yes = false;      // nobody is asked
  std::string home;      // of the user; empty: not known
  std::string path;      // PATH
  std::string state;     // sbx's own directory below the user's state; empty: none
  ProfileSearch search;  // of installed profiles
};

// Prints the difference, asks where there is a terminal, writes. The exit status: 0, or 125 where a
// grant was refused. Errors: those of the files; kBadValue for what is no result.
Result<int> grant(const GrantOptions& options);

}  // namespace sbx::learn
