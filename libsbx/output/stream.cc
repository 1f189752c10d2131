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
  if (!redactor_) {
    capture_.append(safe);
  } else {
    const bool is_mark = safe == kReplacement;
    const std::uint64_t shown = is_mark ? 0 : safe.size();
    capture_.hide(redactor_->given() - shown - capture_.bytes(), is_mark);
    if (!is_mark) capture_.append(safe);
  }
  if (sink_) sink_(safe);
  if (result_) result_->append(safe);
}

CapturedText OutputStream::so_far(bool exact_bytes) const {
  CapturedText text = Capture(capture_).finish(exact_bytes);
  text.bytes = written_;
  return text;
}

CapturedText OutputStream::finish(bool exact_bytes) {
  if (redactor_) redactor_->finish([this](std::string_view safe) { keep(safe); });
  if (result_) result_->finish();
  capture_.hide(written_ - capture_.bytes(), false);
  return capture_.finish(exact_bytes);
}

std::vector<RuleCount> OutputStream::redactions() const {
  return redactor_ ? redactor_->counts() : std::vector<RuleCount>{};
}

}  // namespace sbx
