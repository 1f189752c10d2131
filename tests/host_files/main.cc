// SPDX-License-Identifier: Apache-2.0
// A watchdog executes the program that it belongs to: these tests too.
#include <gtest/gtest.h>

#include "host_files/leftovers.h"

int main(int argc, char** argv) {
  if (argc > 0 && argv[0] == sbx::kWatchdogName) {
    sbx::Leftovers::remove_left(sbx::Watchdog::read_told());
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
