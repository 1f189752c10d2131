// SPDX-License-Identifier: Apache-2.0
// Verdict: what the command policy says of one request before it runs. Advice from the text; the
// force is the sandbox's. Values only: no I/O.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"
#include "policy/policy.h"
#include "shell/reading.h"

namespace sbx::guard {

// A path that the text names, and that the policy does not show, or does not let be written.
struct RefusedPath {
  std::string path;
  // /tmp or the home, where those are the sandbox's own: nothing is refused that the host has not.
  // Or /etc, of which what is private is not shown.
  std::string private_place;
  // The protected path that it is, lies below or holds, where nothing is refused while the host has
  // none; private_place is then the root of that.
  std::string protect = {};
  // Directly below /, or in /dev, and to be made there: the host need not have it.
  bool is_made = false;
  bool is_written = false;  // or removed, by what the text says
  friend bool operator==(const RefusedPath&, const RefusedPath&) = default;
};

struct Judgement {
  Verdict verdict = Verdict::kAllow;
  std::vector<Finding> findings;        // strongest first, then by span
  std::vector<shell::Unknown> unknown;  // at last what files that are read in run
  bool leaves_names_open = false;       // some of that is in the text: a program's name, or a text
  std::string cwd;                      // that the command was read in; absolute
  std::vector<RefusedPath> refused_paths;
};

// Of the command in its directory, request_cwd(). Pure and thread-safe. Errors: request_cwd()'s.
Result<Judgement> judge(const Policy& policy, const Request& request);

}  // namespace sbx::guard
