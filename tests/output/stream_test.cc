// SPDX-License-Identifier: Apache-2.0
// Tests of output/stream: limits and counts are those of what was written, whatever of it is a
// secret.
#include "output/stream.h"

#include <gtest/gtest.h>

#include <string>

#include "redact_harness.h"

namespace sbx {
namespace {

CapturedText stream_of(const CaptureLimits& limits, std::string_view written,
                       std::size_t chunk = 1 << 20) {
  static const auto shipped = RuleSet::make({}).value();
  OutputStream stream(limits, {shipped, {"exact-needle-1"}}, false);
  for (std::size_t at = 0; at < written.size(); at += chunk) {
    stream.append(written.substr(at, chunk));
    if (chunk == 3) stream.show();
  }
  return stream.finish(false);
}

TEST(OutputStream, MarksBesideAMarkerDoNotChangeItsNumber) {
  const std::string secret = "see exact-needle-1\n";
  std::string written;
  for (int i = 0; i < 100; ++i) written += secret;
  const CapturedText kept = stream_of({.bytes = 8 * 19, .lines = {}}, written);
  std::string text;
  const auto marks = [&](int count) {
    for (int i = 0; i < count; ++i) text += "see [REDACTED]\n";
  };
  marks(2);
  text += "[... " + std::to_string(92 * 19) + " bytes left out ...]\n";
  marks(6);
  EXPECT_EQ(kept.text, text);
  EXPECT_EQ(kept.bytes, written.size());
  for (const std::size_t chunk : {1, 7, 18, 19, 1000}) {
    EXPECT_EQ(stream_of({.bytes = 8 * 19, .lines = {}}, written, chunk).text, text) << chunk;
  }
}

TEST(OutputStream, WhatFitsIsNotCutForTheMarksInIt) {
  const std::string url = "http://u:p@h/\n";
  const CapturedText kept = stream_of({.bytes = 14, .lines = {}}, url);
  EXPECT_EQ(kept.text, "http://u:[REDACTED]@h/\n");
  EXPECT_FALSE(kept.truncated);
  EXPECT_TRUE(stream_of({.bytes = 13, .lines = {}}, url).truncated);
}

TEST(OutputStream, WhatIsCutIsCutThoughItsMarksWouldFit) {
  const CapturedText kept = stream_of({.bytes = 16, .lines = {}}, "see exact-needle-1\n");
  EXPECT_EQ(kept.text, "see \n[... 3 bytes left out ...]\n[REDACTED]\n");
  EXPECT_TRUE(kept.truncated);
}

TEST(OutputStream, WhatIsHiddenIsCountedAndNotKept) {
  constexpr std::uint64_t kMore = std::uint64_t{1} << 40;  // than there is memory
  Capture capture({.bytes = 100, .lines = {}});
  capture.append("key\n");
  capture.hide(kMore, true);
  capture.append("\nend\n");
  const CapturedText kept = capture.finish(false);
  EXPECT_EQ(kept.bytes, kMore + 9);
  EXPECT_EQ(kept.text, "key\n[REDACTED]\n[... " + std::to_string(kMore + 9 - 100) +
                           " bytes left out ...]\n[REDACTED]\nend\n");
}

TEST(OutputStream, AKeyOfManyLinesCountsWhole) {
  std::string key = "-----BEGIN PRIVATE KEY-----\n";
  for (int i = 0; i < 20; ++i) key += std::string(63, static_cast<char>('a' + i)) + "Q\n";
  key += "-----END PRIVATE KEY-----\n";
  const std::string written = "before\n" + key + std::string(100, '-') + "\nafter\n";
  const std::string whole = stream_of({}, written).text;
  EXPECT_EQ(whole, redact(written).text);
  const CapturedText kept = stream_of({.bytes = 1000, .lines = {}}, written);
  EXPECT_TRUE(kept.truncated);
  EXPECT_EQ(kept.bytes, written.size());
  const std::string number = std::to_string(written.size() - 1000);
  EXPECT_NE(kept.text.find("[... " + number + " bytes left out ...]"), std::string::npos)
      << kept.text;
  EXPECT_TRUE(kept.text.ends_with("\nafter\n"));
  for (const std::size_t chunk : {1, 3, 50, 700}) {
    EXPECT_EQ(stream_of({.bytes = 1000, .lines = {}}, written, chunk).text, kept.text) << chunk;
  }
}

TEST(OutputStream, MarksThatAreLeftOutAreForgotten) {
  std::string written;
  for (int i = 0; i < 200'000; ++i) written += "https://u:p@h/ ";
  written += "\nend\n";
  const CapturedText kept = stream_of({.bytes = 100, .lines = {}}, written);
  EXPECT_EQ(kept.bytes, written.size());
  EXPECT_TRUE(kept.text.starts_with("https://u:[REDACTED]@h/ https"));
  EXPECT_TRUE(kept.text.ends_with("u:[REDACTED]@h/ \nend\n")) << kept.text;
  EXPECT_NE(kept.text.find("[... " + std::to_string(written.size() - 100) + " bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace sbx
