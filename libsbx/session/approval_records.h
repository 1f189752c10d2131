// SPDX-License-Identifier: Apache-2.0
// Which approvals are used up, for all processes of a user: one empty file each, named by its
// digest, below the user's state directory; and the decision on one request.
#pragma once

#include <functional>
#include <optional>

#include "policy/environment.h"
#include "run/run.h"
#include "session/approvals.h"

namespace sbx {

// Records below $XDG_STATE_HOME or ~/.local/state of this environment. Old records are removed in
// passing. Errors: kSetupFailed where that directory cannot be used, or is full.
Approvals::Record approval_record(const Environment& environment);

// A number that no other process is given. Errors: kSetupFailed.
Result<std::uint64_t> approval_nonce();

struct PersonSaid {
  bool is_yes = false;
  int signal = 0;  // that came in place of an answer
};

// Asks a person, who is there.
using AskPerson = std::function<PersonSaid(const Approval&)>;

// Whether the request was granted, or a person says so now; nullopt: yes. `ask` may be null.
std::optional<NotApproved> decide_request(Approvals& approvals, const Policy& policy,
                                          const Request& request, const guard::Judgement& judgement,
                                          const std::string& cwd, const AskPerson& ask);

}  // namespace sbx
