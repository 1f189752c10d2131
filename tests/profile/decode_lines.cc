// SPDX-License-Identifier: Apache-2.0
// One JSON document a line on stdin → "accept" or "refuse CODE WHERE" a line on stdout; with
// --schema, the schema; with --cost, the time of one load of `default`. For schema_agrees.py.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "profile/schema.h"
#include "profile/store.h"

namespace {

double median_load_us(std::string_view name) {
  std::vector<double> rounds;
  for (int i = 0; i < 2000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto loaded = sbx::load_profile(name, {});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (!loaded.ok()) return -1;
    rounds.push_back(took.count());
  }
  std::cout << name << " first " << rounds.front() << " ";
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--schema") {
    std::cout << sbx::profile_schema_json();
    return 0;
  }
  if (mode == "--cost") {
    for (const char* name : {"default", "tool-execute_command"}) {
      std::cout << "median " << median_load_us(name) << " us\n";
    }
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto errors = sbx::validate_profile_text(line, "", {});
    if (errors.empty()) {
      std::cout << "accept\n";
    } else {
      std::cout << "refuse " << sbx::error_name(errors.front().code) << " " << errors.front().where
                << "\n";
    }
  }
}
