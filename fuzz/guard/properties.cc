// SPDX-License-Identifier: Apache-2.0
// The properties of a judgement.
#include "properties.h"

#include <algorithm>

#include "../../tests/guard/sample_policy.h"

namespace sbx {

bool judgement_holds(std::string_view text) {
  static const Policy policy = sample_policy();
  Request request;
  request.command = text;
  const Result<guard::Judgement> result = guard::judge(policy, request);
  if (!result.ok()) return !result.error().message.empty();
  const guard::Judgement& judgement = result.value();
  const auto lies_inside = [&](Span span) {
    return span.begin <= span.end && span.end <= text.size();
  };
  const auto is_of = [&](const Finding& finding) { return finding.verdict == judgement.verdict; };
  return std::all_of(judgement.findings.begin(), judgement.findings.end(),
                     [&](const Finding& finding) { return lies_inside(finding.span); }) &&
         std::all_of(judgement.unknown.begin(), judgement.unknown.end(),
                     [&](const shell::Unknown& unknown) { return lies_inside(unknown.span); }) &&
         (judgement.verdict == Verdict::kAllow ||
          std::any_of(judgement.findings.begin(), judgement.findings.end(), is_of));
}

}  // namespace sbx
