// SPDX-License-Identifier: Apache-2.0
// `learn`: the smallest profile, on top of a parent, under which a command ends as it does where
// everything but secrets is shown, with nothing refused that could be granted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "profile/store.h"

namespace sbx::learn {

struct LearnOptions {
  std::string out;                   // of the profile; empty: it is only printed
  std::string merge;                 // a profile to begin with; empty: one of `parents` alone
  std::vector<std::string> parents;  // as `extends` has them; empty: `default`
  std::string workspace;             // absolute
  std::string home;                  // of the user; empty: not known
  std::string state;                 // sbx's own directory below the user's state; empty: none
  std::string path;                  // PATH
  int signal_fd = -1;                // of the signals that end it, which are blocked
  bool yes = false;                  // nobody is asked
  bool json = false;                 // on a terminal too
  ProfileSearch search;              // of installed profiles
  std::string command;               // through the profile's shell; empty: `argv`
  std::vector<std::string> argv;
};

// Every run is in a layer that is thrown away. Prints one JSON object, or a line on a terminal. The
// exit status: 0 where the profile is proven and written, else 125. Errors: where nothing could be
// learned; kCancelled where a signal ended it.
Result<int> learn(const LearnOptions& options);

}  // namespace sbx::learn
