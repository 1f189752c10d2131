// SPDX-License-Identifier: Apache-2.0
// A secret value → every form in which output may show it: as it is, each line of it, base64 at
// each of the three alignments, and escaped for URLs, JSON, shells. Values only.
#pragma once

#include <string>
#include <vector>

namespace sbx {

struct ExactForm {
  std::string text;
  bool base64 = false;  // one letter more on each side may hold bits of the value
};

// Values, and lines of values, under this many bytes are never looked for.
inline constexpr std::size_t kShortestExactValue = 8;

std::vector<ExactForm> exact_forms(const std::vector<std::string>& values);

}  // namespace sbx
