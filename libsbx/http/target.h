// SPDX-License-Identifier: Apache-2.0
// Target: the target of a request → the path that rules are held against, and what goes upstream.
// What two servers could read in two ways is refused. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx::http {

struct Target {
  // Escapes of unreserved characters decoded, without empty and dot segments. The segments of
  // `as_data` keep %2F; `as_separator` is the same path as a server reads it that takes it for /.
  std::vector<std::string> as_data;
  std::vector<std::string> as_separator;
  std::string path;      // for people and records, without the query
  std::string upstream;  // with the query
  std::string query;     // as it came
};

// `text` is in origin form. Errors: kBadValue.
Result<Target> read_target(std::string_view text);

// The segments of a rule's pattern, in the same form; `separates` as above.
std::vector<std::string> pattern_segments(std::string_view pattern, bool separates);

// Whole and with case: * is one segment that is not empty, or any part of one; ** any number of
// them, at the end one at least.
bool matches_path(const std::vector<std::string>& pattern, const std::vector<std::string>& path);

// Whether each parameter is covered by one of the patterns, in both readings of a "+"; * is any
// part, also none. A query that servers take apart in different ways is covered by nothing.
bool matches_query(const std::vector<std::string>& patterns, std::string_view query);

}  // namespace sbx::http
