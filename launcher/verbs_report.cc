// SPDX-License-Identifier: Apache-2.0
// report, and the page of explain --html: sbx-report's, which lies beside.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "flags.h"
#include "process.h"
#include "verbs.h"

namespace sbx {

int verb_report(const Invocation& invocation) {
  RunOptions options;
  const Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  std::vector<std::string> words = {"sbx-report", "log", options.what};
  if (!options.out.empty()) words.push_back(options.out);
  complain(parsed.ok() ? become_companion(std::move(words)) : parsed.error());
  return 125;
}

Error become_plan_page(const std::string& plan_json) {
  const int file = memfd_create("plan", MFD_CLOEXEC);
  if (file < 0 || !write_all(file, plan_json) || lseek(file, 0, SEEK_SET) != 0 ||
      dup2(file, STDIN_FILENO) < 0) {
    return call_failed(ErrorCode::kSetupFailed, "the plan cannot be handed on", "memfd_create");
  }
  return become_companion({"sbx-report", "plan"});
}

}  // namespace sbx
