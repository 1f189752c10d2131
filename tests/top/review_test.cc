// SPDX-License-Identifier: Apache-2.0
// What is shown of an approval, and when a person has seen it.
#include "review.h"

#include <gtest/gtest.h>

#include <clocale>

namespace sbx {
namespace {

using nlohmann::json;

json asked(const std::string& command) {
  return {
      {"kind", "command"},
      {"digest", "d1"},
      {"asked_at", "2026-01-31T12:00:00.000Z"},
      {"command", command},
      {"rules", {{{"id", "r"}, {"reason", "because"}}}},
      {"covers",
       {{"cwd", "/w"},
        {"request", {{"command", command}, {"env", {{"A", "B"}}}, {"files", {{{"path", "f"}}}}}},
        {"policy", {{"a", {{"b", {1, 2}}}}}}}}};
}

std::wstring all(const Review& review) {
  std::wstring text;
  for (const std::wstring& line : review.lines()) text += line + L"\n";
  return text;
}

TEST(Review, ShowsAllThatTheDigestCovers) {
  Review review("s", asked("rm -rf x\necho \x1b[2J"));
  review.fit(200);
  const std::wstring text = all(review);
  for (const wchar_t* const part :
       {L"session    s", L"digest     d1", L"because (r)", L"  rm -rf x\n", L"  echo \\u{001b}[2J",
        L"cwd = \"/w\"", L"request.env.A = \"B\"", L"request.files[0] = {\"path\":\"f\"}",
        L"policy.a.b = [1,2]"}) {
    EXPECT_NE(text.find(part), std::wstring::npos) << std::string(part, part + wcslen(part));
  }
}

TEST(Review, IsSeenOnceEveryLineHasBeenInView) {
  Review review("s", asked("true"));
  review.fit(80);
  const std::size_t lines = review.lines().size();
  ASSERT_GT(lines, 4U);
  EXPECT_FALSE(review.is_seen());
  review.note_seen(0, 3);
  review.note_seen(4, lines);  // the fourth has not been
  EXPECT_FALSE(review.is_seen());
  review.note_seen(3, 1);
  EXPECT_TRUE(review.is_seen());
}

TEST(Review, AWindowWithoutRoomShowsNothing) {
  Review review("s", asked("true"));
  review.fit(80);
  review.note_seen(0, 0);
  EXPECT_FALSE(review.is_seen());
}

TEST(Review, HalfOfALongLineIsNotTheLineInAnotherWidthEither) {
  Review review("s", asked(std::string(500, 'x') + " rm -rf /"));
  review.fit(40);
  const std::size_t lines = review.lines().size();
  review.note_seen(0, lines - 1);
  review.fit(400);
  EXPECT_FALSE(review.is_seen());
  review.note_seen(0, review.lines().size());
  EXPECT_TRUE(review.is_seen());
  review.fit(20);
  EXPECT_TRUE(review.is_seen());
}

TEST(Review, ARequestOfHttpIsItsMethodAddressAndSize) {
  Review review("s", {{"kind", "http"},
                      {"digest", "d"},
                      {"asked_at", "t"},
                      {"method", "POST"},
                      {"url", "https://h/p"},
                      {"rule", "/network/http/0"},
                      {"size", 12}});
  review.fit(100);
  EXPECT_NE(all(review).find(L"POST https://h/p"), std::wstring::npos);
  EXPECT_NE(all(review).find(L"12 bytes"), std::wstring::npos);
}

}  // namespace
}  // namespace sbx
