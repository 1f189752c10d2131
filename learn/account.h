// SPDX-License-Identifier: Apache-2.0
// What somebody who learns is told in the end: on a terminal line by line, else one JSON object.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "learn/lines.h"

namespace sbx::learn {

struct Learned {
  const nlohmann::json& wide;    // the run with everything shown
  const nlohmann::json& narrow;  // the last one, under the profile
  const std::vector<Line>& lines;
  const std::vector<std::string>& refused;  // to the last run, and not granted; notes of it
  const nlohmann::json& asks;               // what a run asks a person about first
  std::vector<std::string> differ;          // in what the two ended differently
  Document profile;
  bool is_written = false;

  bool is_proven() const { return differ.empty(); }
};

// A line on stderr.
void say(const std::string& line);

// All of it but the profile on stderr, a line each.
void tell(const Learned& learned);

// `out`: of the profile; empty: it is only printed.
Document answer_of(const Learned& learned, const std::string& out);

}  // namespace sbx::learn
