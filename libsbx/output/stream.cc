// SPDX-License-Identifier: Apache-2.0
// The two filters of one stream, in their order.
#include "output/stream.h"

namespace sbx {

OutputStream::OutputStream(const CaptureLimits& limits, const RedactionInput& redaction)
    : capture_(limits) {
  if (redaction.rules != nullptr) redactor_.emplace(redaction.rules, redaction.exact_values);
}

void OutputStream::append(std::string_view bytes) {
  written_ += bytes.size();
  if (!redactor_) {
    capture_.append(bytes);
  } else {
    redactor_->append(bytes, [this](std::string_view safe) { capture_.append(safe); });
  }
}

CapturedText OutputStream::finish(bool exact_bytes) {
  if (redactor_) redactor_->finish([this](std::string_view safe) { capture_.append(safe); });
  CapturedText text = capture_.finish(exact_bytes);
  text.bytes = written_;
  return text;
}

std::vector<RuleCount> OutputStream::redactions() const {
  return redactor_ ? redactor_->counts() : std::vector<RuleCount>{};
}

}  // namespace sbx
