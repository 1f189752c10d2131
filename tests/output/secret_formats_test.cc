// SPDX-License-Identifier: Apache-2.0
// Every shipped format: by its example and counter-example, and by other values of its form.
#include "output/secret_formats.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "redact_harness.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

using Json = nlohmann::json;

Json shipped_rules() {
  std::ifstream file(SBX_SOURCE_DIR "/profiles/redaction/rules.json");
  return Json::parse(file)["rules"];
}

std::string joined(const Json& parts) {
  std::string text;
  for (const Json& part : parts) text += part.get<std::string>();
  return text;
}

TEST(SecretFormats, AreAtLeastTwoHundredWithNamesOfTheirOwn) {
  const Json rules = shipped_rules();
  ASSERT_EQ(rules.size(), secret_formats().size());
  EXPECT_GE(rules.size(), 550U);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_TRUE(ids.insert(rules[i]["id"]).second) << rules[i]["id"];
    EXPECT_EQ(rules[i]["id"], secret_formats()[i].id);
    EXPECT_EQ(rules[i].value("expression", ""), secret_formats()[i].expression);
    EXPECT_EQ(rules[i].value("entropy", 0.0), secret_formats()[i].entropy);
    EXPECT_EQ(rules[i].value("whole", false), secret_formats()[i].whole);
    for (const std::string keyword : rules[i]["keywords"]) {
      EXPECT_GE(keyword.size(), kShortestLiteral) << keyword;
      EXPECT_EQ(std::count_if(keyword.begin(), keyword.end(),
                              [](char c) { return c >= 'A' && c <= 'Z'; }),
                0)
          << keyword;
    }
  }
}

// Another value of the same form: each letter and digit of `text` changed for one of its kind.
std::string another(const std::string& text, std::mt19937& random) {
  const bool hex = text.find_first_not_of("0123456789abcdefABCDEF-") == std::string::npos;
  std::string out = text;
  for (char& c : out) {
    const auto pick = [&](std::string_view pool) { c = pool[random() % pool.size()]; };
    if (c >= '2' && c <= '9') pick("23456789");
    if (c >= 'a' && c <= 'f') pick("abcdef");
    if (!hex && c >= 'g' && c <= 'z') pick("ghijkmnpqrstuvwxyz");
    if (!hex && c >= 'G' && c <= 'Z') pick("GHJKLMNPQRSTUVWXYZ");
  }
  return out;
}

// An example of the rule with another value, which its expression still takes for one.
std::string another_example(const Json& rule, std::mt19937& random, std::string& value) {
  const re2::RE2 expression(rule.value("expression", ""), re2::RE2::Latin1);
  Json parts = rule["example"];
  const auto secret = parts[1].get<std::string>();
  for (int attempt = 0; attempt < 30; ++attempt) {
    parts[1] = value = attempt < 29 ? another(secret, random) : secret;
    if (re2::RE2::PartialMatch(joined(parts), expression)) break;
  }
  return joined(parts);
}

TEST(SecretFormats, EachFindsOtherValuesOfItsFormWhereverALogShowsThem) {
  std::mt19937 random{7};
  int cases = 0;
  int found = 0;
  for (const Json& rule : shipped_rules()) {
    if (!rule.contains("expression")) continue;
    for (int round = 0; round < 3; ++round) {
      std::string value;
      const std::string line = another_example(rule, random, value);
      for (const std::string& text :
           {line, line + "\r", "\x1b[31m" + line + "\x1b[0m", line + "\nnext line\n"}) {
        ++cases;
        const bool gone = redact(text).text.find(value) == std::string::npos;
        found += gone ? 1 : 0;
        EXPECT_TRUE(gone) << rule["id"] << " " << redact(text).text;
      }
    }
  }
  RecordProperty("cases", cases);
  EXPECT_EQ(found, cases);
}

TEST(SecretFormats, ThePageSaysHowManyThereAre) {
  const std::string page = test::slurp(SBX_SOURCE_DIR "/docs/redaction.md");
  EXPECT_NE(page.find("| " + std::to_string(secret_formats().size()) + " known formats"),
            std::string::npos);
}

// An example's second part is the rest of the secret: it must not come out.
TEST(SecretFormats, EachFindsItsExampleAndLeavesItsCounterExample) {
  for (const Json& rule : shipped_rules()) {
    const Redacted found = redact(joined(rule["example"]) + "\n");
    EXPECT_FALSE(found.counts.empty()) << rule["id"];
    EXPECT_EQ(found.text.find(rule["example"][1].get<std::string>()), std::string::npos)
        << rule["id"] << " " << found.text;
    const auto counter = rule["counter_example"].get<std::string>();
    EXPECT_EQ(redact(counter).text, counter) << rule["id"];
  }
}

// What somebody makes up to see whether keys are found, in parts, so that no scanner takes them for
// one.
TEST(Redactor, FindsKeysThatAreMadeUpInTheFormOfTheirService) {
  const std::string random = "Ab3De5Gh7Jk9Mn1Pq3Rt";
  for (const std::string& key :
       {"AK" + std::string("IA1234567890ABCDEF"), "sk-" + random,
        "sk-proj-" + random + "Ab3De5Gh7Jk9", "sk-ant-" + random + random,
        "sk-ant-api03-" + random + "Ab3De5Gh7Jk9", "gh" + ("p_" + random) + "Ab3De5Gh7J",
        "sk-" + std::string("aB3dE5aB3dE5aB3dE5aB3dE5aB3dE5aB3dE5"),
        "xox" + std::string("p-1234567890-abcdefghij"),
        "xox" + std::string("b-1234567890-abcdefghij"),
        std::string("eyJhbGciOiJIUzI1NiJ9.") + "eyJhIjoxfQ.c2ln",
        std::string("eyJhbGciOiJIUzI1NiJ9.") + "eyJzdWIiOiIxIn0.abc"}) {
    EXPECT_EQ(redact("a " + key + " b\n").text, "a [REDACTED] b\n");
  }
}

// However short: a password in a URL is one by its place.
TEST(Redactor, FindsShortPasswordsByTheirPlaceAndName) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"postgres://u:p@h/db", "postgres://u:[REDACTED]@h/db"},
           {"mongodb+srv://u:p@c.mongodb.net", "mongodb+srv://u:[REDACTED]@c.mongodb.net"},
           {"api_key=12345678", "api_key=[REDACTED]"},
           {"docker run -e API_KEY=hello1234 img", "docker run -e API_KEY=[REDACTED] img"},
           {"CC=gcc API_KEY=supersecret99 make", "CC=gcc API_KEY=[REDACTED] make"},
           {"run: FOO_TOKEN=hello1234", "run: FOO_TOKEN=[REDACTED]"},
           {"password=abc", "password=[REDACTED]"},
           {"AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY=[REDACTED]"},
           {"token=abcdef123456", "token=[REDACTED]"},
           {"login with token=ab12cd34 done", "login with token=[REDACTED] done"},
           {"x my_token=abcd1234efgh y", "x my_token=[REDACTED] y"},
           {"(token=abcdef123456)", "(token=abcdef123456)"},
           {"next token=identifier 3", "next token=identifier 3"},
           {"page_token=abcdef123456 x", "page_token=abcdef123456 x"},
           {"key=abcdef123456 x", "key=abcdef123456 x"},
           {"password=ab", "password=ab"},
           {"API_KEY=abc1234", "API_KEY=abc1234"}}) {
    EXPECT_EQ(redact(text).text, expected);
  }
}

TEST(SecretFormats, MostExamplesAreFoundByTheirOwnRule) {
  int own = 0;
  const Json rules = shipped_rules();
  for (const Json& rule : rules) {
    own += redact(joined(rule["example"])).names(rule["id"].get<std::string>()) ? 1 : 0;
  }
  // A few share their form with a rule that comes first.
  EXPECT_GE(own * 100, static_cast<int>(rules.size()) * 95);
}

// What the search costs, counted and not timed: a place that holds a gram is looked up.
TEST(SecretFormats, FewPlacesOfOrdinaryLinesHoldAGramOfAKeyword) {
  std::set<std::uint32_t> grams;
  for (const Json& rule : shipped_rules()) {
    for (const std::string keyword : rule["keywords"]) {
      grams.insert(rarest_gram(keyword, 0).product);
    }
  }
  std::size_t places = 0;
  std::size_t held = 0;
  for (const std::string& line : corpus_lines("ordinary_bulk.txt")) {
    for (std::size_t at = 0; at + kShortestLiteral <= line.size(); ++at) {
      ++places;
      held += grams.contains(gram_product(word_of(std::string_view(line).substr(at)))) ? 1U : 0U;
    }
  }
  ASSERT_GT(places, 100'000U);
  RecordProperty("held_permille", static_cast<int>(held * 1000 / places));
  EXPECT_LT(held * 40, places);
}

}  // namespace
}  // namespace sbx
