// SPDX-License-Identifier: Apache-2.0
// Counts → a plot as inline SVG: bars upright, in stacked kinds, or lying, one a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "html.h"
#include "summary.h"

namespace sbx::page {

struct Column {
  std::string label;  // of the axis; empty: none
  std::string words;  // what a reader who points at it is told
  KindCounts counts{};
  bool is_plain = false;  // one colour, the first count
};
void draw_columns(Html& html, const std::string& what, const std::vector<Column>& columns);

struct Bar {
  std::string name;
  std::uint64_t count = 0;
};
void draw_bars(Html& html, const std::string& what, const std::vector<Bar>& bars);

}  // namespace sbx::page
