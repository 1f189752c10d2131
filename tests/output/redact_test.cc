// SPDX-License-Identifier: Apache-2.0
// Tests of output/redact: exact values in all their forms, key blocks, chunks, and measured recall
// and false alarms on two corpora. The shipped formats: secret_formats_test.cc.
#include "output/redact.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "../../fuzz/output/properties.h"
#include "base/hex.h"
#include "corpus.h"
#include "json/base64.h"
#include "redact_harness.h"

namespace sbx {
namespace {

using Json = nlohmann::json;

TEST(Redactor, LeavesOrdinaryLinesAsTheyAre) {
  const auto lines = corpus_lines("ordinary.txt");
  ASSERT_GE(lines.size(), 150U);
  int changed = 0;
  for (const std::string& line : lines) {
    const std::string text = redact(line).text;
    EXPECT_EQ(text, line);
    changed += text == line ? 0 : 1;
  }
  RecordProperty("false_alarms", changed);
}

TEST(Redactor, ChangesLessThanOneInTwoHundredOfManyOrdinaryLines) {
  const auto lines = corpus_lines("ordinary_bulk.txt");
  ASSERT_GE(lines.size(), 4000U);
  std::size_t changed = 0;
  for (const std::string& line : lines) {
    const std::string text = redact(line).text;
    if (text != line) std::printf("changed: %s -> %s\n", line.c_str(), text.c_str());
    changed += text == line ? 0 : 1;
  }
  RecordProperty("false_alarms", static_cast<int>(changed));
  EXPECT_LT(changed * 200, lines.size());
}

std::string key_body(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
  }
  return text;
}

constexpr const char* kUuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
constexpr const char* kHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";

TEST(Redactor, ANameThatEndsInKeyTokenSecretPasswordOrPatWinsOverTheShapeOfItsValue) {
  for (const std::string word : {"key", "token", "secret", "password", "pat"}) {
    std::string upper = word;
    std::string first = word;
    for (char& c : upper) c = static_cast<char>(c - 0x20);
    first[0] = upper[0];
    for (const std::string& name :
         {"billing" + first, "billing_" + word, "billing-" + word, "billing." + word,
          "BILLING_" + upper, "Billing" + first, "app.billing" + first}) {
      for (const std::string value : {kUuid, kHash}) {
        for (const std::string& line :
             {name + "=" + value, name + ": " + value, name + " = '" + value + "'",
              "{\"" + name + "\": \"" + value + "\"}", "x --" + name + " " + value}) {
          if (line.starts_with("x --") && word != "password" && word != "secret") continue;
          EXPECT_EQ(redact(line).text.find(value), std::string::npos) << line;
        }
      }
    }
  }
}

TEST(Redactor, NamesThatAreKnownToBePublicKeepTheirHashes) {
  std::ifstream file(SBX_SOURCE_DIR "/profiles/redaction/rules.json");
  std::vector<std::string> names = {"commit", "digest",   "checksum", "integrity",
                                    "id",     "trace_id", "sha256",   "etag"};
  const Json rules = Json::parse(file);
  for (const Json& word : rules["public_names"]) {
    names.push_back(word.get<std::string>() + "_key");
  }
  for (const std::string& name : names) {
    for (const std::string value : {kUuid, kHash}) {
      for (const std::string& line :
           {name + "=" + value, name + ": " + value, "\"" + name + "\": \"" + value + "\""}) {
        EXPECT_EQ(redact(line).text, line);
      }
    }
  }
}

// The second of each is what has to stay.
TEST(Redactor, NoPartOfAPasswordStaysBesideTheMark) {
  const std::pair<const char*, const char*> cases[] = {
      {"x postgres://app:pa@ss!@db/x", "x postgres://app:[REDACTED]@db/x"},
      {"smtp://me@example.com:pa55@mx", "smtp://me@example.com:[REDACTED]@mx"},
      {"postgres://app:pa/s?s#w@db.net/x", "postgres://app:[REDACTED]@db.net/x"},
      {"postgres://app:1a/s?s#w@db.net/x", "postgres://app:[REDACTED]@db.net/x"},
      {"postgres://app:p@s/s@db.net/x", "postgres://app:[REDACTED]@db.net/x"},
      {"url=postgres://app:pa'ss@db/x", "url=postgres://app:[REDACTED]@db/x"},
      {"mongodb://u:p4ss@h1,h2/x", "mongodb://u:[REDACTED]@h1,h2/x"},
      {"amqp://u:p1@h1,amqp://u2:p2@h2", "amqp://u:[REDACTED]@h1,amqp://u2:[REDACTED]@h2"},
      {"Server=x;Password=pa,s's(w;Database=y", "Server=x;Password=[REDACTED];Database=y"},
      {"password=pa,ss;wo'rd", "password=[REDACTED]"},
      {"Server=x;Password=Qz)7]v}k>W<9;Db=y", "Server=x;Password=[REDACTED];Db=y"},
      {"Server=x;Password=Qz7v);Db=y", "Server=x;Password=[REDACTED];Db=y"},
      {"<c>Server=x;Password=Qz7vkW</c>", "<c>Server=x;Password=[REDACTED]</c>"},
      {"Pwd={Qz7v;}}kW};Db=y", "Pwd={[REDACTED]};Db=y"},
      {"curl -u 'me:pa$s \"w' x", "curl -u 'me:[REDACTED]' x"},
      {"mysql -p'pa'\\''ss' x", "mysql -p'[REDACTED]' x"},
      {"mysql -p\"pa\\\"s$ s\" x", "mysql -p\"[REDACTED]\" x"},
      {"IDENTIFIED BY 'pa''s s'", "IDENTIFIED BY '[REDACTED]'"},
      {"{\\\"password\\\":\\\"pas1\\\\\\\"s2\\\"}", "{\\\"password\\\":\\\"[REDACTED]\\\"}"},
      {"u:p@ss/w@tcp(h:3306)/d", "u:[REDACTED]@tcp(h:3306)/d"},
      {"<password a=\"b\">pa'ss1</password>", "<password a=\"b\">[REDACTED]</password>"},
      {"<password><![CDATA[pa<ss]]></password>", "<password><![CDATA[[REDACTED]]]></password>"},
      {"password=abcd1234,user=me", "password=[REDACTED],user=me"},
      {"PASSWORD='pa''ss1'", "PASSWORD='[REDACTED]'"},
      {"x?password=pa,ss;w&y=1", "x?password=[REDACTED]&y=1"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(redact(text).text, expected) << text;
}

// Built here, so that no scanner of repositories takes them for a leak.
std::string key_of(std::string_view pool, std::size_t length) {
  std::mt19937 random{static_cast<unsigned>(length)};
  std::string text;
  while (text.size() < length) text += pool[random() % pool.size()];
  return text;
}
constexpr std::string_view kBase62 =
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

TEST(Redactor, ALongValueIsJudgedByItsBeginningAndGoesWhole) {
  const std::string value = key_of(kBase62, 5000) + "password=" + key_of(kBase62, 3000);
  const std::pair<std::string, std::string> around[] = {{"password=", ""},
                                                        {"x password=", " y"},
                                                        {"{\"api_token\": \"", "\", \"a\": 1}"},
                                                        {"a;Password=", ";Database=x"},
                                                        {"<password>", "</password>"}};
  for (const auto& [before, after] : around) {
    EXPECT_EQ(redact(before + value + after).text, before + "[REDACTED]" + after);
  }
}

TEST(Redactor, WhatOnlyLooksLikeAPasswordInAUrlStays) {
  for (const char* text :
       {"http://localhost:5173/@fs/home/x", "https://example.com:8443/p?a=1#frag@2",
        "ssh://git@host.example:22/a@b", "git+ssh://git@github.com:org/repo.git@v1",
        "https://${USER}:${PASSWORD}@host/", "https://x:{password}@host",
        "https://${U:-x}:${P}@host", "http://h1:8080,a@b.c", "http://%s:%s@host/",
        "redis://:****@cache", "redis://:*@cache", "https://[::1]:8080/a@b",
        "see http://host:80 or mail me@example.com", "file:///a:b@c"}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

TEST(Redactor, CallsAndDefaultsThatNameNoSecretStay) {
  for (const char* text :
       {"os.environ.get(\"API_TOKEN\", \"\")", "getPassword(\"prompt text 1\")",
        "t(\"password\", \"Your password\")", "get_secret(\"prod/db-1\")",
        "find_by_token(\"abc123def456\")", "setKey(\"name\")", "label(\"password\", \"password\")",
        "const token = process.env.TOKEN || \"\";", "authkey=process.current_process().authkey,",
        "[\"password\", \"username\", \"email2\"]", "def f(password=None, token='')"}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

TEST(Redactor, AKeyThatOnlyItsPlaceInTheCallOfAServicesClientTellsIsFound) {
  for (const std::string& key :
       {key_of(kHexDigits, 32), key_of(kBase62, 24), key_of(kBase62, 40)}) {
    for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
             {"algolia(id,'", "')"},
             {"const c = twilio(sid, \"", "\");"},
             {"client = Twilio::REST::Client.new(sid, '", "')"},
             {"m = mailjet.connect('public', '", "', { v: 3 })"},
             {"require('contentful')('space', `", "`)"},
             {"pusher := NewClient(appID, \"", "\")"},
             {"var trello = new Api(\"", "\")"},
             {"Datadog.init(get(\"x\"), \"", "\")"}}) {
      EXPECT_EQ(redact(before + key + after).text, before + "[REDACTED]" + after);
    }
  }
}

TEST(Redactor, WhatElseIsGivenToTheCallOfAServicesClientStays) {
  const std::string commit = key_of(kHexDigits, 40);
  for (const std::string& text : std::vector<std::string>{
           "jira.find(\"" + commit + "\")", "algolia(id, key)",
           "algolia('products-and-their-brands', 3)",
           "twilio.messages('sms sent to all of the 24 numbers')",
           "sentry = resolve('" + commit + "')", "datadog(\"abcdefghijklmnopqrstuvwxyz\")",
           "algolia('unclosed, \"" + commit}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

TEST(Redactor, AWordThatIsColouredInPartIsFoundWithTheColoursWithin) {
  const std::string on = "\x1b[01;31m\x1b[K";
  const std::string off = "\x1b[m\x1b[K";
  const std::string token = "ghp_" + key_of(kBase62, 36);
  EXPECT_EQ(redact("a " + token.substr(0, 9) + on + token.substr(9, 7) + off + token.substr(16) +
                   " b\nnext\n")
                .text,
            "a [REDACTED] b\nnext\n");
  EXPECT_EQ(redact("x " + on + "gh" + off + token.substr(2) + "\n").text,
            "x " + on + "[REDACTED]\n");
  EXPECT_EQ(redact("DB_PASS" + on + "WORD" + off + "=horse" + on + "99x" + off + "\n").text,
            "DB_PASS" + on + "WORD" + off + "=[REDACTED]" + off + "\n");
  EXPECT_EQ(redact("one needle" + on + "-in-" + off + "hay two", {"needle-in-hay"}).text,
            "one [REDACTED] two");
  EXPECT_EQ(redact("id ac" + on + "me-12" + off + "345", {}, {"acme-[0-9]{5}"}).text,
            "id [REDACTED]");
  // Moving the cursor parts words.
  EXPECT_EQ(redact("id acme-\x1b[9G12345", {}, {"acme-[0-9]{5}"}).text, "id acme-\x1b[9G12345");
  const std::string plain = on + "src/main.c" + off + ":12: " + on + "token" + off + " of a line\n";
  EXPECT_EQ(redact(plain).text, plain);
}

TEST(Redactor, PromptsEncodingsAndTemplatesAreNoSecrets) {
  for (const char* text :
       {"def getpass(prompt='Password: ', stream=None):", "ask(\"Your API token: \", timeout=30)",
        "_auth = base64.b64encode(user + b\":\" + pw)", "token.close = `</${name}>${newline}`",
        "std::optional<UrlPassword> find_url_password(std::string_view line)",
        "password = password.encode(\"idna-2008\")", "the password is: required"}) {
    EXPECT_EQ(redact(text).text, text);
  }
  EXPECT_EQ(redact("don't say password: 'hunter22'").text, "don't say password: '[REDACTED]'");
}

TEST(Redactor, FindsTheBlocksOfSsh2) {
  const std::string text = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"me\"\n" +
                           key_body(4) + "abc=\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\nnext\n";
  const Redacted result = redact(text);
  EXPECT_EQ(result.text.find("MIIE"), std::string::npos) << result.text;
  EXPECT_TRUE(result.text.ends_with("---- END SSH2 ENCRYPTED PRIVATE KEY ----\nnext\n"));
  const std::string open =
      "---- BEGIN SSH2 PUBLIC KEY ----\n" + key_body(1) + "---- END SSH2 PUBLIC KEY ----\n";
  EXPECT_EQ(redact(open).text, open);
}

class TemplateFiller {
 public:
  // Fills in {a12} and the like; remembers what it filled in.
  std::string fill(std::string_view line) {
    values.clear();
    std::string out;
    for (std::size_t at = 0; at < line.size(); ++at) {
      const std::size_t close = line.find('}', at);
      if (line[at] != '{' || close == std::string_view::npos || close - at > 4 ||
          std::string_view("ahbpw").find(line[at + 1]) == std::string_view::npos) {
        out += line[at];
        continue;
      }
      values.push_back(make(line[at + 1], std::atoi(std::string(line.substr(at + 2)).c_str())));
      out += values.back();
      at = close;
    }
    return out;
  }

  std::vector<std::string> values;

 private:
  std::string make(char kind, int length) {
    static const std::string kHex(kHexDigits);
    static const std::string kAlnum = kHex + "ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (kind == 'w') {
      static constexpr std::string_view kWords[] = {"swordfish", "battery", "horse", "dragonfly"};
      return std::string(kWords[random_() % 4]);
    }
    const std::string& pool = kind == 'h' ? kHex : kAlnum;
    std::string text;
    while (text.size() < static_cast<std::size_t>(length)) text += pool[random_() % pool.size()];
    if (kind == 'p' && length > 6) text[4] = "!#%^*_-+.~"[random_() % 10];
    return text;
  }

  std::mt19937 random_{11};
};

TEST(Redactor, FindsAllSecretsOfTheCorpus) {
  const auto templates = corpus_lines("secrets.txt");
  ASSERT_GE(templates.size(), 160U);
  TemplateFiller filler;
  int found = 0;
  int total = 0;
  for (int round = 0; round < 20; ++round) {
    for (const std::string& line : templates) {
      const std::string filled = filler.fill(line);
      const std::string text = redact(filled + "\n").text;
      ++total;
      const bool leaked = std::any_of(
          filler.values.begin(), filler.values.end(),
          [&](const std::string& value) { return text.find(value) != std::string::npos; });
      found += leaked ? 0 : 1;
      if (leaked) std::printf("leaked: %s -> %s\n", filled.c_str(), text.c_str());
    }
  }
  RecordProperty("recall_permille", found * 1000 / total);
  EXPECT_EQ(found, total);
}

TEST(Redactor, ReplacesOnlyTheSecret) {
  EXPECT_EQ(redact("DB_PASSWORD=tr0ub4dor&3 \n").text, "DB_PASSWORD=[REDACTED]\n");
  EXPECT_EQ(redact("{\"user\":\"me\",\"password\":\"hunter22\",\"n\":1}").text,
            "{\"user\":\"me\",\"password\":\"[REDACTED]\",\"n\":1}");
  EXPECT_EQ(redact("see postgres://me:s3cretpw@db/x now").text,
            "see postgres://me:[REDACTED]@db/x now");
}

TEST(Redactor, CountsEachSecretOnceUnderTheRuleThatComesFirst) {
  const Redacted result = redact("GITHUB_TOKEN=ghp_" + std::string(18, 'a') + std::string(18, '7') +
                                 "\nA_PASSWORD=abcd1234\nB_PASSWORD=abcd1234\n");
  ASSERT_EQ(result.counts.size(), 2U);
  EXPECT_EQ(result.counts[0].rule, "github-pat");
  EXPECT_EQ(result.counts[0].count, 1U);
  EXPECT_EQ(result.counts[1].rule, "assignment");
  EXPECT_EQ(result.counts[1].count, 2U);
}

// Go; Gson; Newtonsoft; .NET; PHP.
TEST(Redactor, FindsAValueAsEachEncoderOfJsonEscapesIt) {
  for (const char* const form :
       {"a\\u003c\\u0026+=/'\\\"d", "a\\u003c\\u0026+\\u003d/\\u0027\\\"d",
        "a\\u003c\\u0026+=/\\u0027\\u0022d", "a\\u003C\\u0026\\u002B=/\\u0027\\u0022d",
        "a<&+=\\/'\\\"d", "a\\u003C\\u0026+=\\/\\u0027\\u0022d"}) {
    EXPECT_EQ(redact(std::string("[\"") + form + "\"]", {"a<&+=/'\"d"}).text, "[\"[REDACTED]\"]");
  }
}

TEST(Redactor, IsIdempotent) {
  const std::string once = redact("PASSWORD=abcd1234\nAuthorization: Bearer " +
                                  std::string(30, 'x') + "1\nhttps://u:pppp1234@h/\n")
                               .text;
  const Redacted twice = redact(once);
  EXPECT_EQ(twice.text, once);
  EXPECT_TRUE(twice.counts.empty());
}

TEST(Redactor, FindsExactValuesInEveryForm) {
  const std::string value = "pa ss/w\"o'rd$+<é>";
  const std::vector<std::string> exact = {value};
  const std::string forms[] = {
      value,
      base64_encode(value),
      base64_encode("a" + value + "tail"),
      base64_encode("ab" + value + "tail"),
      base64_encode("abc" + value + "tail"),
      "pa%20ss%2Fw%22o%27rd%24%2B%3C%C3%A9%3E",
      "pa%20ss/w%22o%27rd%24%2b%3c%c3%a9%3e",
      "pa+ss%2Fw%22o%27rd%24%2B%3C%C3%A9%3E",
      "pa ss/w\\\"o'rd$+<é>",
      "pa ss\\/w\\\"o'rd$+<é>",
      "pa ss/w\\\"o'rd$+<\\u00e9>",
      "pa ss/w\\\"o'rd$+\\u003cé\\u003e",
      "pa ss/w\"o'\\''rd$+<é>",
      "pa ss/w\\\"o'rd\\$+<é>",
      "pa\\ ss/w\\\"o\\'rd\\$+\\<é\\>",
  };
  for (const std::string& form : forms) {
    const Redacted result = redact("x <" + form + "> y\n", exact);
    EXPECT_TRUE(result.names("exact-value")) << form;
    EXPECT_EQ(result.text.find(form.substr(4, 8)), std::string::npos) << form << " " << result.text;
  }
}

TEST(Redactor, FindsTheLinesOfAValueInWrappedBase64) {
  std::string value;
  for (int i = 0; i < 150; ++i) value += static_cast<char>('!' + i * 7 % 90);
  const std::string encoded = base64_encode(value);
  for (const std::size_t width : {64U, 76U}) {
    std::string text;
    for (std::size_t at = 0; at < encoded.size(); at += width) {
      text += encoded.substr(at, width) + "\n";
    }
    const Redacted result = redact(text, {value});
    for (std::size_t at = 0; at + 16 < encoded.size(); at += width) {
      EXPECT_EQ(result.text.find(encoded.substr(at, 16)), std::string::npos) << result.text;
    }
  }
}

TEST(Redactor, FindsEachLineOfAMultiLineValueAndNothingUnderEightBytes) {
  const std::vector<std::string> exact = {"first line of it\nshort\r\nthird line of it\n",
                                          "sevenby"};
  const Redacted result = redact("third line of it\nshort\nsevenby\nx first line of it", exact);
  EXPECT_EQ(result.text, "[REDACTED]\nshort\nsevenby\nx [REDACTED]");
}

TEST(Redactor, FindsASecretCutAtAnyPlaceByChunks) {
  const auto rules = RuleSet::make({}).value();
  const std::string text = "line\nexport API_TOKEN=abcdef1234567890 x\nzz exact-needle-1 end\n";
  const std::string expected = "line\nexport API_TOKEN=[REDACTED] x\nzz [REDACTED] end\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Redactor redactor(rules, {"exact-needle-1"});
    std::string out;
    const Redactor::Sink sink = [&](std::string_view bytes) { out += bytes; };
    redactor.append(std::string_view(text).substr(0, cut), sink);
    redactor.append(std::string_view(text).substr(cut), sink);
    redactor.finish(sink);
    ASSERT_EQ(out, expected) << cut;
  }
}

TEST(Redactor, GivesOutACompleteLineWithoutWaitingForTheNext) {
  Redactor redactor(RuleSet::make({}).value(), {});
  std::string out;
  redactor.append("done\nhalf a li", [&](std::string_view bytes) { out += bytes; });
  EXPECT_EQ(out, "done\n");
}

// What `text` becomes where its first `cut` bytes rest for a while.
std::string shown_at(std::string_view text, std::size_t cut, std::string* early = nullptr,
                     const std::vector<std::string>& patterns = {}) {
  Redactor redactor(RuleSet::make(patterns).value(), {"exact-needle-1", "several words 12345"});
  std::string out;
  const Redactor::Sink sink = [&](std::string_view bytes) { out += bytes; };
  redactor.append(text.substr(0, cut), sink);
  redactor.show(sink);
  if (early != nullptr) *early = out;
  redactor.append(text.substr(cut), sink);
  redactor.finish(sink);
  return out;
}

TEST(Redactor, ShowsALineThatRestsOnce) {
  for (const std::string text :
       {"ready", "Continue? [y/N] ", "What's a long prompt: ", "12%\r13%\r14%"}) {
    std::string early;
    EXPECT_EQ(shown_at(text + "more of it\n", text.size(), &early), text + "more of it\n");
    EXPECT_EQ(early, text);
  }
  std::string early;
  EXPECT_EQ(shown_at("a longerword", 12, &early), "a longerword");
  EXPECT_EQ(early, "a ");
}

TEST(Redactor, ShowsNothingOfALineThatRestsBesideThePatternsOfAProfile) {
  std::string early;
  EXPECT_EQ(shown_at("my pet is a cat\n", 10, &early, {"pet .*cat"}), "my [REDACTED]\n");
  EXPECT_EQ(early, "");
}

TEST(Redactor, ShowsNoMoreOfALineThatIsLongerThanAWindow) {
  std::string line;
  while (line.size() < 50'000) line += "a b ";
  const std::size_t cut = line.size() + 7;
  line += "exact-needle-1 end ";
  while (line.size() < 80'000) line += "c d ";
  const std::string out = shown_at(line + "\n", cut);
  EXPECT_NE(out.find("[REDACTED] end"), std::string::npos);
  EXPECT_EQ(out.find("needle"), std::string::npos);
}

TEST(Redactor, ShowsNoMoreThanSevenBytesOfASecretThatRestsHalfway) {
  std::vector<std::string> templates = corpus_lines("secrets.txt");
  templates.insert(templates.end(), {"zz exact-needle-1 end", "zz several words 12345 end"});
  TemplateFiller filler;
  for (const std::string& one : templates) {
    const std::string line = filler.fill(one);
    const std::string whole = redact(line, {"exact-needle-1", "several words 12345"}).text;
    for (std::size_t cut = 0; cut <= line.size(); ++cut) {
      const std::string out = shown_at(line, cut);
      ASSERT_GE(out.size(), whole.size()) << line << " " << cut;
      const std::size_t more = out.size() - whole.size();
      ASSERT_LE(more, 7U) << line << " " << cut << " " << out;
      std::size_t at = 0;
      while (at < whole.size() && out[at] == whole[at]) ++at;
      std::size_t end = 0;
      while (end < whole.size() && out[out.size() - 1 - end] == whole[whole.size() - 1 - end])
        ++end;
      EXPECT_GE(at + end, whole.size()) << line << " " << cut << " " << out;
    }
  }
}

TEST(Redactor, HandlesVeryLongLinesInBoundedMemory) {
  Redactor redactor(RuleSet::make({}).value(), {"needle-in-hay"});
  const std::string chunk(1000, 'x');
  std::size_t given = 0;
  std::string tail;
  std::size_t most_behind = 0;
  std::size_t fed = 0;
  const Redactor::Sink sink = [&](std::string_view bytes) {
    given += bytes.size();
    tail.append(bytes);
    tail.erase(0, tail.size() - std::min<std::size_t>(tail.size(), 2000));
  };
  for (int i = 0; i < 5000; ++i) {
    redactor.append(chunk, sink);
    fed += chunk.size();
    most_behind = std::max(most_behind, fed - given);
  }
  EXPECT_LE(most_behind, 66'000U);
  redactor.append(" needle-in-hay password=abcd1234 ", sink);
  redactor.finish(sink);
  EXPECT_TRUE(tail.ends_with("x [REDACTED] password=[REDACTED] ")) << tail.substr(tail.size() - 50);
}

TEST(Redactor, ReplacesTheBodyOfAPrivateKeyByOneMark) {
  const std::string begin = "-----BEGIN RSA PRIVATE KEY-----\n";
  const std::string end = "-----END RSA PRIVATE KEY-----\n";
  const Redacted result = redact("a\n" + begin + key_body(20) + "abc=\n" + end + "b\n");
  EXPECT_EQ(result.text, "a\n" + begin + "[REDACTED]\n" + end + "b\n");
  ASSERT_EQ(result.counts.size(), 1U);
  EXPECT_EQ(result.counts[0].count, 1U);
}

TEST(Redactor, AnUnterminatedKeyGoesToItsEndAndNoFurther) {
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  EXPECT_EQ(redact(begin + key_body(3)).text.find("MIIE"), std::string::npos);
  EXPECT_EQ(redact(begin + key_body(3) + "$ echo done\ndone\n").text,
            begin + "[REDACTED]\n$ echo done\ndone\n");
}

TEST(Redactor, FindsKeysThatAreIndentedNumberedQuotedOrInOneLine) {
  const std::string begin = "-----BEGIN EC PRIVATE KEY-----";
  const std::string end = "-----END EC PRIVATE KEY-----";
  const std::string line = key_body(1).substr(0, 64);
  for (const auto& [lead, tail] :
       std::vector<std::pair<std::string, std::string>>{{"    ", ""},
                                                        {"+", ""},
                                                        {"> ", ""},
                                                        {"     7\t", ""},
                                                        {"12:", ""},
                                                        {"\"", "\\n\" +"},
                                                        {"key.pem:", ""}}) {
    std::string text;
    for (const std::string& part : {begin, line, line, end}) {
      text.append(lead).append(part).append(tail).append("\n");
    }
    EXPECT_EQ(redact(text).text.find("MIIE"), std::string::npos) << redact(text).text;
  }
  const std::string in_json =
      "{\"key\":\"" + begin + "\\n" + line + "\\n" + line + "\\n" + end + "\\n\"}";
  EXPECT_EQ(redact(in_json).text, "{\"key\":\"" + begin + "[REDACTED]" + end + "\\n\"}");
}

TEST(Redactor, AppliesTheProfilesPatternsLineByLine) {
  const Redacted result =
      redact("id acme-12345 acme-9\nkey(zzz) ^start\n", {}, {"acme-[0-9]{5}", "key\\((\\w+)\\)"});
  EXPECT_EQ(result.text, "id [REDACTED] acme-9\nkey([REDACTED]) ^start\n");
  EXPECT_TRUE(result.names("pattern-1"));
  EXPECT_TRUE(result.names("pattern-2"));
  EXPECT_EQ(redact("a\nab\n", {}, {"^a$"}).text, "[REDACTED]\nab\n");
  EXPECT_EQ(redact("a\nb\n", {}, {"a\\sb|x*"}).text, "a\nb\n");
}

TEST(RuleSet, RefusesAnExpressionThatIsNoneAndSaysWhich) {
  const auto result = RuleSet::make({"ok", "(broken"});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kBadValue);
  EXPECT_EQ(result.error().where, "/output/patterns/1");
}

TEST(Redactor, CorpusHolds) {
  const auto corpus = read_corpus("redact");
  EXPECT_GE(corpus.size(), 12U);
  for (const auto& [name, content] : corpus) EXPECT_TRUE(redactor_holds(content)) << name;
}

TEST(Redactor, RandomPiecesInRandomChunksGiveTheSame) {
  std::mt19937 random(5);
  const std::vector<std::string> pieces = {
      "password=",
      "abcd1234",
      "\n",
      "-----BEGIN PRIVATE KEY-----",
      key_body(1),
      "\n\n",
      " plain ",
      "\"",
      "-----END PRIVATE KEY-----",
      "eyJhbGciOiJIUzI1NiJ9.",
      "https://u:pw1",
      "@host/",
      "\r\n",
      std::string(9000, 'q'),
      "ghp_",
      "123456789",
      "abbbc",
      "warn\n",
      "\nMIIEowIBAAKCAQEAx7Qd0Z3VS5JJcds3xfnYw9uKpL2mB8tRzC4vN1sHgJkFqWe0\n"};
  for (int round = 0; round < 300; ++round) {
    std::string input = {char(random()), char(random()), char(random() % 12)};
    for (int i = 0; i < 12; ++i) input += pieces[random() % pieces.size()];
    ASSERT_TRUE(redactor_holds(input)) << round;
  }
}

}  // namespace
}  // namespace sbx
