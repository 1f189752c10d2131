// SPDX-License-Identifier: Apache-2.0
// Reading: the two ways in, a shell's text and a program with its arguments. Values only.
#include "guard/reading.h"

namespace sbx {

Reading read_shell(std::string_view text) {
  Reading reading;
  reading.complete = text.empty();
  return reading;
}

Reading read_argv(const std::vector<std::string>& argv) {
  Reading reading;
  reading.complete = argv.empty();
  return reading;
}

}  // namespace sbx
