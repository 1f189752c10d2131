// SPDX-License-Identifier: Apache-2.0
#include "properties.h"

#include <algorithm>
#include <string>

#include "run/printed_paths.h"
#include "trace/file_grants.h"

namespace sbx {

bool printed_refusals_hold(std::string_view bytes) {
  constexpr std::size_t kMost = 32;
  LaunchPlan plan;
  plan.wanted.add(Layer::kMount);
  plan.shown = {{"/usr", "ro"},    {"/etc", "ro"},          {"/w", "rw"},
                {"/w/keys", "ro"}, {"/w/a b/.env", "none"}, {"/w/secret", "none"}};
  const std::vector<Denial> found = printed_refusals(plan, Policy(), bytes, {}, true);
  return found.size() <= kMost && std::all_of(found.begin(), found.end(), [&](const Denial& one) {
           const auto is_it = [&](const Denial& other) { return other.target == one.target; };
           const std::string shown = shown_as(plan, one.target);
           const bool has_grant = one.grant.starts_with("filesystem.roots += [{\"path\": \"/");
           return one.operation == "open" &&
                  std::count_if(found.begin(), found.end(), is_it) == 1 &&
                  ((shown == "none" && has_grant) ||
                   (shown == "ro" && (has_grant || one.grant.empty())));
         });
}

}  // namespace sbx
