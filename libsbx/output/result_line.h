// SPDX-License-Identifier: Apache-2.0
// ResultLine: a stream → the JSON object of its last valid line `__RESULT__:{…}`. Bounded: a line
// over 256 KiB is no result. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

class ResultLine {
 public:
  static constexpr std::size_t kLongestLine = 256 << 10;
  static constexpr int kDeepest = 64;

  void append(std::string_view bytes);
  // The end of the stream: a last line without a newline counts.
  void finish();

  // One JSON object, valid and in UTF-8, as it was printed.
  const std::optional<std::string>& json() const { return json_; }

  // Lines that began as a result and were none, and what was wrong with the last of them.
  std::uint64_t invalid_lines() const { return invalid_lines_; }
  const std::string& problem() const { return problem_; }

 private:
  void extend_line(std::string_view part);
  void end_line();

  std::string line_;       // of the current line, while it may still be a result
  bool skipping_ = false;  // it is not
  bool too_long_ = false;  // it was, up to the bound
  std::optional<std::string> json_;
  std::uint64_t invalid_lines_ = 0;
  std::string problem_;
};

// Why the text is not one JSON object (RFC 8259, UTF-8, at most `deepest` levels); empty where it
// is one.
std::string json_object_problem(std::string_view text, int deepest);

}  // namespace sbx
