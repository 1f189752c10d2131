// SPDX-License-Identifier: Apache-2.0
// NUL-separated arguments, and after an empty one those of --args → the parser, the rules, and
// where both agree the plan, which must keep its own order.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bwrap/options.h"
#include "bwrap/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::string separator(2, '\0');
  const std::size_t end = std::min(input.find(separator), input.size());
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < end;) {
    const std::size_t next = std::min(input.find('\0', at), end);
    arguments.push_back(input.substr(at, next - at));
    at = next + 1;
  }
  const std::string more = input.substr(std::min(end + separator.size(), input.size()));
  sbx::bwrap::Options options;
  const auto wanted = sbx::bwrap::parse_options(
      arguments, [&](int) -> sbx::Result<std::string> { return more; }, options);
  if (!wanted.ok()) {
    if (wanted.error().message.empty()) std::abort();
    return 0;
  }
  sbx::bwrap::Caller caller;
  caller.uid = 1000;
  caller.gid = 1000;
  caller.cwd = "/home";
  if (wanted.value() != sbx::bwrap::Wanted::kRun || options.command.empty() ||
      !sbx::bwrap::check_options(options, caller).ok()) {
    return 0;
  }
  const sbx::LaunchPlan plan = sbx::bwrap::make_plan(options, caller, {});
  if (!sbx::check_plan(plan).ok()) std::abort();
  for (const sbx::Op& op : plan.ops) {
    if (sbx::bwrap::failure_words(plan, op, 2, "").empty()) std::abort();
  }
  return 0;
}
