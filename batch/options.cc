// SPDX-License-Identifier: Apache-2.0
// Values of flags, checked.
#include "options.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace sbx::batch {
namespace {

// More than these a session does not run at once.
constexpr std::int64_t kMostJobs = 4096;
constexpr std::int64_t kMostRetries = 1000;
constexpr std::int64_t kMostNodes = 100'000;
constexpr std::int64_t kMostShards = 1'000'000;

Error bad_value(std::string_view flag, std::string_view value, std::string hint) {
  return Error{ErrorCode::kBadFlag,
               "bad value for " + std::string(flag) + ": '" + std::string(value) + "'",
               std::string(flag), std::move(hint)};
}

Status read_count(std::string_view flag, std::string_view value, std::int64_t least,
                  std::int64_t most, std::uint64_t& to) {
  const auto count = parse_count(value, most);
  if (!count || *count < least) {
    return bad_value(
        flag, value,
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  to = static_cast<std::uint64_t>(*count);
  return {};
}

Status read_shard(std::string_view value, Options& to) {
  const std::size_t slash = value.find('/');
  const auto part = parse_count(value.substr(0, slash), kMostShards);
  const auto parts = slash == std::string_view::npos
                         ? std::nullopt
                         : parse_count(value.substr(slash + 1), kMostShards);
  if (!part || !parts || *part < 1 || *part > *parts) {
    return bad_value("--shard", value, "I/N, such as 1/4: I counts from 1 to N");
  }
  to.shard = static_cast<std::uint64_t>(*part);
  to.shards = static_cast<std::uint64_t>(*parts);
  return {};
}

Status read_flag(std::string_view flag, std::string_view value, Options& to) {
  if (flag == "--results") return to.results = value, Status();
  if (flag == "--jobs") {
    to.has_jobs = true;
    return read_count(flag, value, 1, kMostJobs, to.jobs);
  }
  if (flag == "--nodes") return read_count(flag, value, 1, kMostNodes, to.slurm.nodes);
  if (flag == "--partition") return to.slurm.partition = value, Status();
  if (flag == "--on") {
    to.on_slurm = value == "slurm";
    return to.on_slurm ? Status() : bad_value(flag, value, "slurm");
  }
  if (flag == "--retries") return read_count(flag, value, 0, kMostRetries, to.retries);
  if (flag == "--shard") return read_shard(value, to);
  if (flag == "--resume") return to.resume = true, Status();
  if (flag == "--resume-failed") return to.resume = to.resume_failed = true, Status();
  if (flag == "--fail-fast") return to.fail_fast = true, Status();
  if (flag != "--order") {
    return Error{ErrorCode::kBadFlag, "unknown argument: '" + std::string(flag) + "'",
                 std::string(flag), "sbx-run batch --help lists the flags"};
  }
  to.in_order = value == "input";
  if (to.in_order || value == "end") return {};
  return bad_value(flag, value, "input or end");
}

}  // namespace

std::uint64_t usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&set)));
}

Result<Options> read_options(const std::vector<std::string>& words) {
  Options out;
  out.jobs = usable_processors();
  bool has_tasks = false;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") {
      out.serve.assign(word + 1, words.end());
      break;
    }
    if (!word->starts_with("--")) {
      if (has_tasks) return bad_value("TASKS", *word, "one file of tasks");
      has_tasks = true;
      out.tasks = *word;
      continue;
    }
    const std::size_t equals = word->find('=');
    const std::string_view value = equals == std::string::npos
                                       ? std::string_view()
                                       : std::string_view(*word).substr(equals + 1);
    SBX_CHECK_OK(read_flag(std::string_view(*word).substr(0, equals), value, out));
  }
  if (!out.on_slurm && (out.slurm.nodes != 1 || !out.slurm.partition.empty())) {
    return Error{ErrorCode::kBadFlag, "--nodes and --partition are of a cluster", "--nodes",
                 "--on slurm"};
  }
  if (out.resume && out.results == "-") {
    return Error{ErrorCode::kBadFlag, "--resume needs the results of the batch before", "--resume",
                 "name them with --results FILE"};
  }
  return out;
}

}  // namespace sbx::batch
