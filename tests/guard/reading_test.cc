// SPDX-License-Identifier: Apache-2.0
// The shell reader: commands, words, what runs what, and what the text does not tell.
#include "guard/reading.h"

#include <gtest/gtest.h>

namespace {

using sbx::read_shell;

TEST(Reading, OfNothingIsCompleteAndEmpty) {
  const sbx::Reading reading = read_shell("");
  EXPECT_TRUE(reading.complete);
  EXPECT_TRUE(reading.commands.empty());
}

}  // namespace
