// SPDX-License-Identifier: Apache-2.0
// What a digest covers: every row of the tables of Policy and Request.
#include "session/approvals.h"

#include <algorithm>

#include "base/sha256.h"
#include "json/codec.h"
#include "policy/fields.h"

namespace sbx {
namespace {

// With its length before it, so that no two lists of texts read alike.
void add(std::string& bytes, std::string_view text) {
  bytes += std::to_string(text.size());
  bytes += ';';
  bytes += text;
}

}  // namespace

std::string approval_digest(const Policy& policy, const Request& request, const std::string& cwd,
                            const Judgement& judgement) {
  std::string bytes;
  add(bytes, "sbx approval 2");
  add(bytes, digest_text(kPolicySpec, &policy));
  add(bytes, digest_text(kRequestSpec, &request));
  add(bytes, cwd);
  for (const Finding& finding : judgement.findings) {
    add(bytes, finding.id);
    add(bytes, std::to_string(finding.span.begin));
    add(bytes, std::to_string(finding.span.end));
  }
  return sha256_hex(bytes);
}

void Approvals::forget_old() {
  const Clock::time_point now = now_();
  std::erase_if(granted_, [&](const auto& entry) { return now - entry.second >= kLifetime; });
}

void Approvals::grant(std::string_view digest) {
  forget_old();
  if (granted_.size() >= kMaxOpen) {
    granted_.erase(
        std::min_element(granted_.begin(), granted_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  granted_.insert_or_assign(std::string(digest), now_());
}

bool Approvals::take(std::string_view digest) {
  forget_old();
  const auto found = granted_.find(digest);
  if (found == granted_.end()) return false;
  granted_.erase(found);
  return true;
}

}  // namespace sbx
