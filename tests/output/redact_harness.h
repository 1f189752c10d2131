// SPDX-License-Identifier: Apache-2.0
// What the tests of redaction share: a text redacted at once, and the lines of a corpus.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "output/redact.h"

namespace sbx {

struct Redacted {
  std::string text;
  std::vector<RuleCount> counts;
  bool names(std::string_view rule) const {
    return std::any_of(counts.begin(), counts.end(),
                       [&](const RuleCount& count) { return count.rule == rule; });
  }
};

inline Redacted redact(std::string_view text, const std::vector<std::string>& exact_values = {},
                       const std::vector<std::string>& patterns = {}) {
  static const auto shipped = RuleSet::make({}).value();
  Redactor redactor(patterns.empty() ? shipped : RuleSet::make(patterns).value(), exact_values);
  Redacted result;
  const Redactor::Sink sink = [&](std::string_view bytes) { result.text += bytes; };
  redactor.append(text, sink);
  redactor.finish(sink);
  result.counts = redactor.counts();
  return result;
}

inline std::vector<std::string> corpus_lines(const std::string& name) {
  std::ifstream file(SBX_SOURCE_DIR "/tests/output/redaction/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("# ")) lines.push_back(line);
  }
  return lines;
}

}  // namespace sbx
