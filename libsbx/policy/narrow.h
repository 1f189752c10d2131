// SPDX-License-Identifier: Apache-2.0
// A profile with flags applied, and the managed policy → what is left of it. Pure. Whatever is done
// here takes away: the paths are held once more against what they lead to (host/view).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"
#include "profile/host_rule.h"
#include "profile/managed.h"
#include "profile/profile.h"

namespace sbx {

struct Narrowed {
  Profile& profile;
  std::optional<std::int64_t>& file_bytes;
  std::optional<std::int64_t>& output_bytes;
  std::vector<std::string>& warnings;  // what was lowered, and by which file
  const std::string& workspace;
  const std::string& upstream_proxy;
  ManagedLimits& limits;
  std::vector<ManagedReach>& reach;
};

// Everything but layers. Errors: kManagedPolicy, where nothing would be left to run in.
Status narrow(const Managed& managed, Narrowed out);

// The layers that the files require, and those that hold what they take away. Errors:
// kManagedPolicy, where the profile turns one off.
Status require_layers(const Managed& managed, Profile& profile);

// Whether a profile under that file can list the host, or the host's own port.
bool may_list(const ManagedReach& reach, const HostRule& rule);
bool may_list(const ManagedReach& reach, int port);

// What both let through. `never_own` of the answer where one of the two does not list the host's
// own addresses.
std::optional<HostRule> both(const HostRule& a, const HostRule& b);

}  // namespace sbx
