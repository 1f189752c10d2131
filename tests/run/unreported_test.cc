// SPDX-License-Identifier: Apache-2.0
#include "run/unreported.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

const std::vector<LimitReport> kHeld = {{Limit::kOpenFiles, Enforcer::kRlimit},
                                        {Limit::kFile, Enforcer::kRlimit},
                                        {Limit::kTmp, Enforcer::kWatch}};

TEST(PrintedLimits, AreNamedInTheWordsOfLibrariesAndShells) {
  for (const char* printed :
       {"x: a: Too many open files\n", "open a: too many open files", "Error: EMFILE: a\n",
        "ulimit: open files: cannot modify limit: Operation not permitted\n"}) {
    EXPECT_EQ(printed_limits(kHeld, printed), std::vector{Limit::kOpenFiles}) << printed;
  }
  for (const char* printed : {"cp: a: File too large\n", "write a: file too large",
                              "bash: line 1: 7 File size limit exceeded head\n", "EFBIG: a"}) {
    EXPECT_EQ(printed_limits(kHeld, printed), std::vector{Limit::kFile}) << printed;
  }
  for (const char* printed : {"dd: error writing '/tmp/a': No space left on device\n",
                              "write /dev/shm/a: no space left on device", "ENOSPC: '/tmp/a/b'"}) {
    EXPECT_EQ(printed_limits(kHeld, printed), std::vector{Limit::kTmp}) << printed;
  }
  EXPECT_EQ(printed_limits(kHeld, "Too many open files\nFile too large\n"),
            (std::vector{Limit::kOpenFiles, Limit::kFile}));
}

TEST(PrintedLimits, AreNotThoseThatNothingHolds) {
  EXPECT_TRUE(printed_limits(kHeld, "").empty());
  EXPECT_TRUE(printed_limits(kHeld, "Too many arguments; a file that is large\n").empty());
  EXPECT_TRUE(printed_limits({{Limit::kOpenFiles, Enforcer::kNone}},
                             "Too many open files\nFile too large\n")
                  .empty());
}

TEST(PrintedLimits, AreNotTemporaryFilesWhereADiskIsFull) {
  EXPECT_TRUE(
      printed_limits(kHeld, "cp: /var/tmp/a: No space left on device\nsee /tmp/log\n").empty());
}

TEST(MetLimit, IsDoubledByItsGrant) {
  SandboxPolicy sandbox;
  sandbox.limits.open_files = 64;
  sandbox.file_bytes = 2049;
  sandbox.limits.tmp_mb = 16;
  EXPECT_EQ(met_limit(Limit::kOpenFiles, sandbox),
            (Denial{Refuser::kCommand, "open", "more than 64 open files", 1, "",
                    "limits.open_files = 128"}));
  EXPECT_EQ(met_limit(Limit::kFile, sandbox),
            (Denial{Refuser::kCommand, "write", "a file of more than 3 KiB", 1, "",
                    "limits.file_kb = 6"}));
  EXPECT_EQ(met_limit(Limit::kTmp, sandbox),
            (Denial{Refuser::kMount, "write", "/tmp", 1, "", "limits.tmp_mb = 32"}));
}

TEST(MetLimit, OfOpenFilesIsRaisedToWhatWasAskedFor) {
  SandboxPolicy sandbox;
  sandbox.limits.open_files = 64;
  const auto grant = [&](std::int64_t asked) {
    return met_limit(Limit::kOpenFiles, sandbox, asked).grant;
  };
  EXPECT_EQ(grant(5000), "limits.open_files = 5000");
  EXPECT_EQ(grant(64), "limits.open_files = 128");
  EXPECT_EQ(grant(1'048'577), "");  // more than any profile may give
}

}  // namespace
}  // namespace sbx
