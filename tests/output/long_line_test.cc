// SPDX-License-Identifier: Apache-2.0
// Lines over 64 KiB are searched in windows: what a secret is known by may end one window's part,
// and the secret begin the next one's.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "redact_harness.h"

namespace sbx {
namespace {

constexpr std::size_t kFirstBorder = 48 << 10;
constexpr std::size_t kSecondBorder = 92 << 10;

// "… x x x ", that long.
std::string filler(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t left = 2; left <= size; left += 2) text[size - left] = 'x';
  return text;
}

// `sample` in a long line, at every `step`-th place where the border lies in it or beside it.
void expect_found_around(std::size_t border, const std::string& sample, std::size_t step) {
  const Redacted alone = redact("x " + sample + " x");
  if (alone.counts.empty()) return;  // a format that only a line's begin has
  const std::string behind = " " + filler(20'000);
  for (std::size_t back = 0; back <= sample.size() + 1; back += step) {
    const std::string before = filler(border - back);
    const Redacted found = redact(before + sample + behind);
    const std::string expected = before + alone.text.substr(2, alone.text.size() - 4) + behind;
    ASSERT_TRUE(found.text == expected) << sample << " at " << before.size() << ": "
                                        << found.text.substr(before.size(), sample.size() + 20);
    ASSERT_EQ(found.counts.size(), alone.counts.size()) << sample << " at " << before.size();
    ASSERT_EQ(found.counts[0].count, alone.counts[0].count) << sample << " at " << before.size();
  }
}

TEST(LongLine, ASecretIsFoundWhereverTheBorderOfTwoWindowsLies) {
  for (const std::string sample :
       {"DB_PASSWORD=Xk9vQz71hunter", "\"db_password\": \"Xk9vQz71hunter\"",
        "https://bob:Xk9vQz71hunter@host.example/", "Authorization: Basic Ym9iOlhrOXZRejcxaHVudGVy",
        "--password Xk9vQz71hunter", "curl -u bob:Xk9vQz71hunter https://host.example/",
        "getenv(\"DB_PASSWORD\", \"Xk9vQz71hunter\")",
        "{\"name\": \"DB_PASSWORD\", \"value\": \"Xk9vQz71hunter\"}",
        "client = twilio(\"AC0123\", \"0f9e8d7c6b5a49382716f5e4d3c2b1a0\")",
        "DB_\x1b[31mPASS\x1b[0mWORD=Xk9vQz71hunter", "ghp_0123456789abcdefghijABCDEFGHIJ012345"}) {
    ASSERT_FALSE(redact("x " + sample + " x").counts.empty()) << sample;
    expect_found_around(kFirstBorder, sample, 1);
    expect_found_around(kSecondBorder, sample, 1);
  }
}

TEST(LongLine, EachFormatIsFoundAroundTheBorderOfTwoWindows) {
  std::ifstream file(SBX_SOURCE_DIR "/profiles/redaction/rules.json");
  const auto shipped = nlohmann::json::parse(file);
  for (const auto& rule : shipped["rules"]) {
    std::string example;
    for (const auto& part : rule["example"]) example += part.get<std::string>();
    if (example.find('\n') != std::string::npos) continue;
    expect_found_around(kFirstBorder, example, 16);
  }
}

TEST(LongLine, ALineThatRestsShowsWhatStandsBehindASecretInAnEarlierWindow) {
  Redactor redactor(RuleSet::make({}).value(), {});
  std::string out;
  const Redactor::Sink sink = [&](std::string_view bytes) { out += bytes; };
  const std::string before = filler(kFirstBorder - 40) + "--password Xk9vQz71hunter ";
  redactor.append(before + filler(20'000), sink);
  redactor.show(sink);
  const std::string shown = filler(kFirstBorder - 40) + "--password [REDACTED] " + filler(20'000);
  EXPECT_TRUE(out == shown) << out.size() << " " << shown.size();
  redactor.append("more\n", sink);
  redactor.finish(sink);
  EXPECT_TRUE(out == shown + "more\n") << out.substr(out.size() - 60);
}

}  // namespace
}  // namespace sbx
