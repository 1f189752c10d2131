// SPDX-License-Identifier: Apache-2.0
// The runs of a command that is learned from: each by sbx-run, in a layer that is thrown away, with
// secrets hidden.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "learn/grants.h"
#include "learn/learn.h"

namespace sbx::learn {

// A directory for the profiles of the runs, which no run shows; gone with the object.
class Place {
 public:
  Place() = default;
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Below `state` (empty: none) or, where that cannot be, in /tmp.
  Status make(const std::string& state);
  // What is hidden while it learns.
  const std::vector<std::string>& parents() const { return parents_; }
  // The path of the one profile that is in it.
  Result<std::string> write(const Document& profile) const;

 private:
  std::vector<std::string> parents_;
  std::string path_;
};

// Everything but secrets, and `places`. On top of `parents`, as `extends` has them.
Document everything_shown(const Document& parents, const std::vector<std::string>& places);

// A profile as it is run while it is learned: what the workspace has of .env files is hidden, and
// there is room for the layer.
Document as_run(Document profile, std::int64_t tmp_mb);

// What sbx-run says of the command under a profile. Errors: where it could not be run.
Result<nlohmann::json> run_under(const LearnOptions& options, const std::string& profile);

// What was connected to, with ports: names as names, addresses as addresses.
std::vector<std::string> hosts_of(const nlohmann::json& result);

// How the two ended differently, and what the second one was refused that the first was not; a line
// each.
std::vector<std::string> differences(const nlohmann::json& wide, const nlohmann::json& narrow);

}  // namespace sbx::learn
