// SPDX-License-Identifier: Apache-2.0
// check: the command policy's verdict; runs nothing.
#include <unistd.h>

#include "flags.h"
#include "prepare.h"
#include "report/judgement.h"
#include "run/run.h"
#include "session_verbs.h"
#include "verbs.h"

namespace sbx {
int verb_check(const Invocation& invocation) {
  RunOptions options;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  const auto refused = [&](const Error& error) {
    return refuse(error, invocation, error_exit_status(error.code));
  };
  if (!parsed.ok()) return refused(parsed.error());
  if (parsed.value().help) return say(*parsed.value().help);
  Result<Prepared> prepared = prepare(options, invocation);
  if (!prepared.ok()) return refused(prepared.error());
  const Policy& policy = *prepared.value().policy;
  const Request& request = prepared.value().request;
  const Environment base =
      make_environment(policy, invocation.environment, prepared.value().facts.user_name);
  const Result<guard::Judgement> judgement = shown_judgement(policy, request, base);
  if (!judgement.ok()) return refused(judgement.error());
  const auto say = wants_json(invocation) ? judgement_to_json : judgement_to_text;
  const bool is_said = print(say(judgement.value()));
  return is_said ? judgement_exit_status(judgement.value().verdict) : 125;
}

}  // namespace sbx
