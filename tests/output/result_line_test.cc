// SPDX-License-Identifier: Apache-2.0
// Tests of output/result_line: which line counts, what is JSON, bounds. nlohmann is the oracle.
#include "output/result_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "../../fuzz/output/properties.h"
#include "corpus.h"

namespace sbx {
namespace {

ResultLine find_in(std::string_view text) {
  ResultLine finder;
  finder.append(text);
  finder.finish();
  return finder;
}

TEST(ResultLine, TakesTheLastValidLine) {
  EXPECT_EQ(find_in("x\n__RESULT__:{\"a\":1}\ny\n__RESULT__:{\"b\":2}\n").json(), "{\"b\":2}");
  EXPECT_EQ(find_in("__RESULT__:{\"a\":1}\n__RESULT__:{broken\n").json(), "{\"a\":1}");
  EXPECT_EQ(find_in("__RESULT__: {\"a\": [1, 2]} \r\n").json(), " {\"a\": [1, 2]} ");
  EXPECT_EQ(find_in("__RESULT__:{}").json(), "{}");
  EXPECT_EQ(find_in("nothing\n").json(), std::nullopt);
}

TEST(ResultLine, OnlyAtTheBeginningOfALine) {
  EXPECT_EQ(find_in(" __RESULT__:{}\necho __RESULT__:{}\n__RESULT_:{}\n").json(), std::nullopt);
  EXPECT_EQ(find_in(" __RESULT__:{}\n").invalid_lines(), 0U);
}

TEST(ResultLine, SaysWhatWasWrongInPlaceOfSilence) {
  const ResultLine finder = find_in("__RESULT__:{\"a\":}\n__RESULT__:[1]\n");
  EXPECT_EQ(finder.invalid_lines(), 2U);
  EXPECT_EQ(finder.problem(), "it does not begin with {");
  EXPECT_EQ(find_in("__RESULT__:{\"a\":}\n").problem(), "not JSON at byte 5");
  EXPECT_EQ(find_in("__RESULT__:{\n").problem(), "it ends too early");
  EXPECT_EQ(find_in("__RESULT__:{} {}\n").problem(), "text follows the object");
  EXPECT_EQ(find_in("__RESULT__:{\"\xff\":1}\n").problem(), "it is not UTF-8");
}

TEST(ResultLine, IsNoneWithHalfAPairOfSurrogates) {
  for (const char* text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")", R"("\ud800\ud800")",
        R"("\udc00\udc00")", R"("\udc00\ud800")", R"("\uD83D\u0041")"}) {
    EXPECT_EQ(find_in("__RESULT__:{\"a\":" + std::string(text) + "}\n").json(), std::nullopt)
        << text;
    EXPECT_EQ(find_in("__RESULT__:{" + std::string(text) + ":1}\n").json(), std::nullopt) << text;
  }
  const std::string whole = R"({"a":"\ud83d\ude00 \uD7FF\uE000"})";
  EXPECT_EQ(find_in("__RESULT__:" + whole + "\n").json(), whole);
}

TEST(ResultLine, BoundsLengthAndDepth) {
  const auto with_text = [](std::size_t size) {
    return "__RESULT__:{\"a\":\"" + std::string(size, 'x') + "\"}\n";
  };
  const std::size_t rest = with_text(0).size() - 1;
  EXPECT_TRUE(find_in(with_text(ResultLine::kLongestLine - rest)).json().has_value());
  const ResultLine too_long = find_in(with_text(ResultLine::kLongestLine - rest + 1));
  EXPECT_EQ(too_long.json(), std::nullopt);
  EXPECT_EQ(too_long.problem(), "the line is longer than 256 KiB");
  EXPECT_EQ(find_in(std::string(300'000, 'x') + "\n").invalid_lines(), 0U);

  const auto nested = [](int depth) {
    std::string text = "{\"a\":";
    for (int i = 1; i < depth; ++i) text += '[';
    for (int i = 1; i < depth; ++i) text += ']';
    return text + "}";
  };
  EXPECT_EQ(json_object_problem(nested(64).replace(5, 0, ""), 64), "");
  EXPECT_EQ(json_object_problem(nested(65), 64), "it is nested too deeply");
}

TEST(ResultLine, AgreesWithAnotherParserOnMangledDocuments) {
  const std::string document =
      R"({"a":[1,-2.5e+10,{"b":null,"c":[]},"x\n\u00e9\"y"],"d":{},"e":true, "f" : false })";
  std::mt19937 random(9);
  int valid = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = document;
    for (std::size_t edits = random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char c = "{}[],:\"\\0123456789eE+-.tfn aun\n"[random() % 31];
      if (random() % 2 == 0) {
        text[at] = c;
      } else {
        text.erase(at, random() % 3);
      }
      if (text.empty()) text = " ";
    }
    const bool expected =
        nlohmann::json::accept(text) && text[text.find_first_not_of(" \n")] == '{';
    ASSERT_EQ(json_object_problem(text, 64).empty(), expected) << text;
    valid += expected ? 1 : 0;
  }
  EXPECT_GT(valid, 10'000);
}

TEST(ResultLine, CorpusHolds) {
  const auto corpus = read_corpus("result_line");
  EXPECT_GE(corpus.size(), 9U);
  for (const auto& [name, content] : corpus) EXPECT_TRUE(result_line_holds(content)) << name;
}

}  // namespace
}  // namespace sbx
