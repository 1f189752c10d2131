// SPDX-License-Identifier: Apache-2.0
// The two filters of one stream, in their order.
#include "output/stream.h"

namespace sbx {

OutputStream::OutputStream(const CaptureLimits& limits, const RedactionInput& redaction,
                           bool find_result)
    : capture_(limits) {
  if (find_result) result_.emplace();
  if (redaction.rules != nullptr) redactor_.emplace(redaction.rules, redaction.exact_values);
}

void OutputStream::append(std::string_view bytes) {
  written_ += bytes.size();
  if (!redactor_) {
    keep(bytes);
  } else {
    redactor_->append(bytes, [this](std::string_view safe) { keep(safe); });
  }
}

void OutputStream::settle() {
  if (redactor_) redactor_->settle([this](std::string_view safe) { keep(safe); });
}

void OutputStream::show() {
  if (redactor_) redactor_->show([this](std::string_view safe) { keep(safe); });
}

void OutputStream::keep(std::string_view safe) {
  capture_.append(safe);
  if (sink_) sink_(safe);
  if (result_) result_->append(safe);
}

CapturedText OutputStream::finish(bool exact_bytes) {
  if (redactor_) redactor_->finish([this](std::string_view safe) { keep(safe); });
  if (result_) result_->finish();
  CapturedText text = capture_.finish(exact_bytes);
  text.bytes = written_;
  return text;
}

std::vector<RuleCount> OutputStream::redactions() const {
  return redactor_ ? redactor_->counts() : std::vector<RuleCount>{};
}

}  // namespace sbx
