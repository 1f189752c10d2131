// SPDX-License-Identifier: Apache-2.0
// What `sbx-run batch` hands over → checked values. Its flags are rows of launcher/flag_table.cc;
// here is what their values mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm.h"

namespace sbx::batch {

struct Options {
  std::string tasks = "-";
  std::string results = "-";  // standard output
  std::uint64_t jobs = 1;
  std::uint64_t retries = 0;
  std::uint64_t shard = 1;
  std::uint64_t shards = 1;
  bool resume = false;
  bool resume_failed = false;  // what has failed is done again
  bool fail_fast = false;
  bool in_order = false;
  bool on_slurm = false;
  bool has_jobs = false;  // --jobs was given
  SlurmWanted slurm;
  std::vector<std::string> serve;  // the flags that make the session
};

// The words behind the program's name: flags as --name=value, the file, and behind "--" the flags
// of `serve`. Errors: kBadFlag.
Result<Options> read_options(const std::vector<std::string>& words);

// The processors that this process may use.
std::uint64_t usable_processors();

}  // namespace sbx::batch
