// SPDX-License-Identifier: Apache-2.0
// Tests of output/capture: what is kept, what the marker counts, and that floods stay bounded.
#include "output/capture.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "../../fuzz/output/properties.h"
#include "base/utf8.h"
#include "corpus.h"
#include "json/base64.h"

namespace sbx {
namespace {

CapturedText capture_of(CaptureLimits limits, std::string_view stream, bool exact_bytes = false) {
  Capture capture(limits);
  capture.append(stream);
  return capture.finish(exact_bytes);
}

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST(Capture, KeepsEverythingUpToTheLimitWithoutAMarker) {
  const CapturedText kept = capture_of({.bytes = 10, .lines = {}}, "0123456789");
  EXPECT_EQ(kept.text, "0123456789");
  EXPECT_EQ(kept.bytes, 10U);
  EXPECT_FALSE(kept.truncated);
  EXPECT_FALSE(kept.base64);
}

TEST(Capture, OneByteTooManyLeavesOneByteOutBetweenHeadAndTail) {
  const CapturedText kept = capture_of({.bytes = 8, .lines = {}}, "abcdefghi");
  EXPECT_EQ(kept.text, "ab\n[... 1 bytes left out ...]\ndefghi");
  EXPECT_EQ(kept.bytes, 9U);
  EXPECT_TRUE(kept.truncated);
}

TEST(Capture, WithoutLimitsKeepsEverything) {
  const std::string text = numbered_lines(50'000);
  EXPECT_EQ(capture_of({}, text).text, text);
}

TEST(Capture, AMarkerAfterANewlineNeedsNoOther) {
  const CapturedText kept = capture_of({.bytes = 8, .lines = {}}, "a\nbbbbbbbbbbc\nddd\n");
  EXPECT_EQ(kept.text, "a\n[... 10 bytes left out ...]\nc\nddd\n");
}

TEST(Capture, ALimitOfZeroKeepsOnlyTheMarker) {
  EXPECT_EQ(capture_of({.bytes = 0, .lines = {}}, "abc").text, "[... 3 bytes left out ...]\n");
  EXPECT_EQ(capture_of({.bytes = {}, .lines = 0}, "abc\n").text,
            "[... 4 bytes, 1 lines left out ...]\n");
  EXPECT_EQ(capture_of({.bytes = -5, .lines = {}}, "").text, "");
}

TEST(Capture, ACharacterThatACutWouldSplitIsLeftOutWholeAndCounted) {
  // Limit 16: 4 bytes of head (one € and a third of the next), 12 of tail (cut inside a 😀).
  const std::string stream = "€€0123456789😀😀😀ab";
  const CapturedText kept = capture_of({.bytes = 16, .lines = {}}, stream);
  EXPECT_EQ(kept.text,
            "€\n[... " + std::to_string(stream.size() - 3 - 10) + " bytes left out ...]\n😀😀ab");
}

TEST(Capture, TheLineLimitKeepsAQuarterOfTheLinesAtTheHead) {
  EXPECT_EQ(capture_of({.bytes = {}, .lines = 4}, numbered_lines(10)).text,
            "1\n[... 12 bytes, 6 lines left out ...]\n8\n9\n10\n");
  EXPECT_EQ(capture_of({.bytes = {}, .lines = 10}, numbered_lines(10)).text, numbered_lines(10));
  EXPECT_EQ(capture_of({.bytes = {}, .lines = 4}, "1\n2\n3\n4\n5").text,
            "1\n[... 2 bytes, 1 lines left out ...]\n3\n4\n5");
  EXPECT_EQ(capture_of({.bytes = {}, .lines = 2}, "\n\n\nx").text,
            "[... 2 bytes, 2 lines left out ...]\n\nx");
}

TEST(Capture, BothLimitsHoldAtOnce) {
  const CapturedText kept = capture_of({.bytes = 40, .lines = 4}, numbered_lines(1000));
  EXPECT_EQ(kept.text, "1\n[... 3878 bytes, 996 lines left out ...]\n998\n999\n1000\n");
}

TEST(Capture, IllFormedBytesBecomeReplacementCharactersOrExactBase64) {
  const std::string bytes = "ok\xff\xc3(";
  EXPECT_EQ(capture_of({}, bytes).text, "ok\xEF\xBF\xBD\xEF\xBF\xBD(");
  const CapturedText exact = capture_of({}, bytes, true);
  EXPECT_TRUE(exact.base64);
  EXPECT_EQ(exact.text, base64_encode(bytes));
  EXPECT_FALSE(capture_of({}, "valid é", true).base64);
}

TEST(Capture, ACutCharacterDoesNotTurnValidTextIntoBase64) {
  std::string stream;
  for (int i = 0; i < 100; ++i) stream += "😀";
  const CapturedText kept = capture_of({.bytes = 50, .lines = {}}, stream, true);
  EXPECT_FALSE(kept.base64);
  EXPECT_TRUE(kept.truncated);
}

TEST(Capture, ChunksOfAnySizeGiveTheSame) {
  std::mt19937 random(3);
  std::string stream(5000, ' ');
  for (char& c : stream) c = "ab\n\xF0\x9F\x98\x80\xff"[random() % 8];
  for (const CaptureLimits limits :
       {CaptureLimits{.bytes = 100, .lines = {}}, CaptureLimits{.bytes = 4999, .lines = {}},
        CaptureLimits{.bytes = 1000, .lines = 17}, CaptureLimits{.bytes = {}, .lines = 40}}) {
    const std::string whole = capture_of(limits, stream).text;
    for (const std::size_t chunk : {1, 2, 3, 7, 64, 1000, 4998}) {
      Capture capture(limits);
      for (std::size_t at = 0; at < stream.size(); at += chunk) {
        capture.append(std::string_view(stream).substr(at, chunk));
      }
      EXPECT_EQ(capture.finish(false).text, whole) << chunk;
    }
  }
}

TEST(Capture, AFloodOfTenGigabytesCostsNoMoreThanItsTail) {
  const std::string chunk(1 << 20, 'y');
  Capture capture({.bytes = 100 << 10, .lines = {}});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10 << 10; ++i) capture.append(chunk);
  const CapturedText kept = capture.finish(false);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(kept.bytes, 10ULL << 30);
  EXPECT_LT(kept.text.size(), (100U << 10) + 100);
  EXPECT_NE(kept.text.find("[... " + std::to_string((10ULL << 30) - (100 << 10)) + " bytes"),
            std::string::npos);
  EXPECT_LT(spent.count(), 20);  // a second at most on an idle machine
}

TEST(Capture, CorpusHolds) {
  const auto corpus = read_corpus("capture");
  EXPECT_GE(corpus.size(), 8U);
  for (const auto& [name, content] : corpus) EXPECT_TRUE(capture_holds(content)) << name;
}

TEST(Base64, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_encode("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_encode("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Base64, DecodesWhatItEncodesAndNothingElse) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
    bytes += static_cast<char>(i);
  }
  for (const char* text : {"A", "AA", "AAA", "A===", "AB==", "AAB=", "AAAA=", "AA\n==", "AA-_",
                           "=AAA", "AA==AAAA", " AAA"}) {
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sbx
