// SPDX-License-Identifier: Apache-2.0
// OutputStream: the bytes of one stream → redacted where that is asked for, then kept as head and
// tail, with the exact number of bytes that were written. Values only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/capture.h"
#include "output/redact.h"
#include "output/result_line.h"

namespace sbx {

struct RedactionInput {
  std::shared_ptr<const RuleSet> rules;  // null: nothing is redacted
  std::vector<std::string> exact_values;
};

enum class OutputChannel : std::uint8_t { kOut, kErr };  // merged output is all kOut

class OutputStream {
 public:
  // `find_result`: look for the last `__RESULT__:{…}` line, after redaction.
  OutputStream(const CaptureLimits& limits, const RedactionInput& redaction, bool find_result);

  // Gets every byte that leaves the redactor, once, in order.
  void set_sink(std::function<void(std::string_view)> sink) { sink_ = std::move(sink); }

  void append(std::string_view bytes);
  // A terminal that rests: what was held back of its last line is given out.
  void settle();
  // A pipe that rests: see Redactor::show().
  void show();

  // What finish() would answer, had the stream ended with what was given out.
  CapturedText so_far(bool exact_bytes) const;
  // The end of the stream; `bytes` of the answer counts what was written. Call once.
  CapturedText finish(bool exact_bytes);

  std::vector<RuleCount> redactions() const;
  // After finish(); null where none was looked for.
  const ResultLine* result() const { return result_ ? &*result_ : nullptr; }

 private:
  void keep(std::string_view safe);

  std::function<void(std::string_view)> sink_;
  std::optional<Redactor> redactor_;
  std::optional<ResultLine> result_;
  Capture capture_;
  std::uint64_t written_ = 0;
};

}  // namespace sbx
