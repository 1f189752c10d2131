// SPDX-License-Identifier: Apache-2.0
// The runs of a command that is learned from: each by sbx-run, in a layer that is thrown away, with
// secrets hidden.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "learn/grants.h"
#include "learn/learn.h"

namespace sbx::learn {

// What a signal makes of everything that is under way.
Error told();

// A directory for the profiles of the runs, which no run shows; gone with the object, or once
// somebody learns after its process was killed.
class RunProfiles {
 public:
  RunProfiles() = default;
  ~RunProfiles();
  RunProfiles(const RunProfiles&) = delete;
  RunProfiles& operator=(const RunProfiles&) = delete;

  // Below the options' `state` or, where that cannot be, in /tmp.
  Status make(const LearnOptions& options);
  // What is hidden while it learns.
  const std::vector<std::string>& parents() const { return parents_; }
  // No other learner's: what else it makes may be called by it.
  std::string name() const;
  // The path of the one profile that is in it.
  Result<std::string> write(const Document& profile) const;

 private:
  std::vector<std::string> parents_;
  std::string path_;
  OwnedFd lock_;  // held as long as it is in use
};

// Everything but `places`. On top of `parents`, as `extends` has them; where those have rules or
// credentials for hosts, which no wider network has, theirs is the network.
// `read_only` are those of kWritten that no layer can lie over.
inline constexpr auto kWritten = std::to_array<std::string_view>({"/tmp", "/var/tmp", "${home}"});
Document everything_shown(const Document& parents, bool has_rules,
                          const std::vector<std::string>& places,
                          const std::vector<std::string>& read_only);

// A profile as it is run while it is learned: what the workspace has of .env files is hidden, and
// nobody is asked, since all of it is thrown away.
Document as_run(Document profile);
// … with room for the layer, where that lies in the memory that the private /tmp lies in.
Document with_room(Document profile, std::int64_t tmp_mb);

// Whether a layer of that name would lie on the disk, as an overlay.
bool has_layer_on_disk(const LearnOptions& options, const std::string& profile,
                       const std::string& layer);
// What sbx-run says of the command under a profile, in a layer of that name, which is gone
// afterwards; empty: in memory. Errors: where it could not be run.
Result<nlohmann::json> run_under(const LearnOptions& options, const std::string& profile,
                                 const std::string& layer);

// What sbx-run would ask a person about before it runs the command under the profile: the findings
// of its command policy.
Result<nlohmann::json> asked_about(const LearnOptions& options, const std::string& profile);

// The grant of what a layer cannot copy, so that it cannot be written; and what that is.
inline constexpr std::string_view kWithoutLayer = "filesystem.overlay = false";
std::vector<std::string> not_copied(const nlohmann::json& result);

// Whether they ended with the same words. Which limits a run has met is known by its words: these
// are the machine's own then, which no profile raises.
bool printed_alike(const nlohmann::json& wide, const nlohmann::json& narrow);

// How the two ended differently, and what the second one was refused that the first was not; a line
// each.
std::vector<std::string> differences(const nlohmann::json& wide, const nlohmann::json& narrow);

}  // namespace sbx::learn
