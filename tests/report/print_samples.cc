// SPDX-License-Identifier: Apache-2.0
// Prints the result schema on one line, then each sample outcome on a line of its own, for
// validate_results.py.
#include <algorithm>
#include <cstdio>

#include "report/json.h"
#include "sample_outcomes.h"

int main() {
  std::string schema = sbx::result_schema_json();
  std::replace(schema.begin(), schema.end(), '\n', ' ');
  std::puts(schema.c_str());
  for (const sbx::Outcome& outcome : sbx::sample_outcomes()) {
    std::puts(sbx::outcome_to_json(outcome).c_str());
  }
  return 0;
}
