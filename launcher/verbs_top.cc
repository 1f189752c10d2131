// SPDX-License-Identifier: Apache-2.0
// top: sbx-top's, which lies beside.
#include <unistd.h>

#include "flags.h"
#include "process.h"
#include "rpc/socket_place.h"
#include "verbs.h"

namespace sbx {

int verb_top(const Invocation& invocation) {
  RunOptions options;
  const Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  const auto become = [&]() -> Error {
    if (!parsed.ok()) return parsed.error();
    if (const Status name =
            options.session.empty() ? Status() : check_session_name(options.session);
        !name.ok()) {
      return name.error();
    }
    return become_companion({"sbx-top", options.session});
  };
  complain(become());
  return 125;
}

}  // namespace sbx
