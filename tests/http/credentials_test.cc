// SPDX-License-Identifier: Apache-2.0
#include "http/credentials.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "json/base64.h"
#include "support/host_rules.h"

namespace sbx::http {
namespace {

void counting(unsigned char* to, std::size_t size) {
  static unsigned char next = 7;
  for (std::size_t i = 0; i < size; ++i) to[i] = next = static_cast<unsigned char>(next * 5 + 3);
}

Credential credential() {
  Credential made;
  made.name = "T";
  made.host = host_rule("h.test:443");
  return made;
}

TEST(Placeholder, KeepsLengthAlphabetAndPrefix) {
  for (const char* const secret :
       {"ghp_abcdefghij0123456789ABCDEFGHIJ012345", "sk-ant-api03-a_b-C9",
        "0123456789abcdef0123456789abcdef", "npm_x", "plain secret!"}) {
    const std::string made = make_placeholder(secret, counting);
    const std::string_view text(secret);
    ASSERT_EQ(made.size(), text.size());
    EXPECT_NE(made, secret);
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(std::isdigit(made[i]) != 0, std::isdigit(text[i]) != 0) << made;
      EXPECT_EQ(std::isupper(made[i]) != 0, std::isupper(text[i]) != 0) << made;
    }
  }
  EXPECT_TRUE(make_placeholder("sk-ant-api03-a_b-C9", counting).starts_with("sk-ant-api03-"));
}

TEST(Placeholder, OfATokenHasAHeaderThatDecodes) {
  const std::string secret = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.abc-def_0";
  const std::string made = make_placeholder(secret, counting);
  ASSERT_EQ(made.size(), secret.size());
  ASSERT_EQ(made.find('.'), secret.find('.'));
  const auto header = base64_decode(made.substr(0, made.find('.')));
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->starts_with("{\"alg\":\"none\""));
  EXPECT_FALSE(made.starts_with(secret.substr(0, 12)));
}

// Nothing that is left as it stands may tell the value, of whatever it is made.
TEST(Placeholder, IsAnotherWhateverTheSecretIsMadeOf) {
  for (const std::string secret :
       {"\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801\u5bc6\u7801\u5bc6\u7801 1",
        "!@#$%^&*()", "----------", "--------------abc", "p@$$!!**", "sk-", "7"}) {
    const std::string made = make_placeholder(secret, counting);
    ASSERT_EQ(made.size(), secret.size());
    EXPECT_NE(made, secret);
    const auto same = std::mismatch(made.begin(), made.end(), secret.begin()).first;
    EXPECT_LT(same - made.begin(), 12) << made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_TRUE(made[i] != secret[i] || static_cast<unsigned char>(secret[i]) < 0x80) << made;
    }
  }
}

// Ten marks before the first letter: as they are they would tell twelve from the start.
TEST(Placeholder, DoesNotKeepMarksThatTellTooMuch) {
  for (const std::string secret : {"-_-_-_-_-_-_ab0123456789cdef", "--------ab-------"}) {
    const std::string made = make_placeholder(secret, counting);
    const auto same = std::mismatch(made.begin(), made.end(), secret.begin()).first;
    EXPECT_LT(same - made.begin(), 8) << made;
  }
}

class Bound : public ::testing::Test {
 protected:
  static BoundSecret secret(const Credential& text, std::string placeholder, std::string value) {
    return {text, std::move(placeholder), std::move(value)};
  }
  static Credential header(const char* value) {
    Credential credential;
    credential.name = "T";
    credential.host = host_rule("h.test:443");
    credential.header = "Authorization";
    credential.value = value;
    return credential;
  }
  Credentials credentials{{secret(header("Bearer ${secret}"), "ph-123456", "re-abcdef")}};
  std::string target = "/";

  std::optional<std::string> apply(Fields& fields, const char* host = "h.test",
                                   bool is_tls = true) {
    return credentials.apply(host, 443, is_tls, fields, target);
  }
};

TEST_F(Bound, PutsTheValueInWhereTheTemplateFits) {
  for (const char* const value : {"Bearer ph-123456", "bearer ph-123456", "ph-123456"}) {
    Fields fields = {{"authorization", value}};
    EXPECT_EQ(apply(fields), std::nullopt);
    EXPECT_EQ(fields[0].value, "Bearer re-abcdef");
  }
  Fields own = {{"Authorization", "Bearer my own"}};
  EXPECT_EQ(apply(own), std::nullopt);
  EXPECT_EQ(own[0].value, "Bearer my own");
}

TEST_F(Bound, NamesTheCredentialAnywhereElse) {
  const std::vector<Fields> wrong = {{{"Authorization", "Basic ph-123456"}},
                                     {{"X", "ph-123456"}},
                                     {{"Cookie", "a=ph-123456"}},
                                     {{"Authorization", "Basic " + base64_encode("u:ph-123456")}},
                                     {{"Authorization", "Basic  " + base64_encode("u:ph-123456")}}};
  for (Fields fields : wrong) EXPECT_EQ(apply(fields), "T") << fields[0].value;
  Fields right = {{"Authorization", "Bearer ph-123456"}};
  EXPECT_EQ(apply(right, "other.test"), "T");
  EXPECT_EQ(apply(right, "h.test", false), "T");
  EXPECT_EQ(right[0].value, "Bearer ph-123456");
  Fields none;
  target = "/?a=%70h-123456";
  EXPECT_EQ(apply(none), "T");
}

// Another's authorization is the command's own.
TEST(Basic, PutsTheValueInForItsOwnUserAlone) {
  Credential text = credential();
  text.basic = "me";
  const Credentials basic({{text, "ph-123456", "re-abcdef"}});
  std::string target = "/?";
  const auto applied = [&](const char* name, const std::string& value) {
    Fields fields = {{name, value}};
    const auto named = basic.apply("h.test", 443, true, fields, target);
    return named ? "the placeholder of " + *named : fields[0].value;
  };
  const std::string pair = base64_encode("me:ph-123456");
  const std::string filled = "Basic " + base64_encode("me:re-abcdef");
  EXPECT_EQ(applied("Authorization", "Basic " + pair), filled);
  EXPECT_EQ(applied("authorization", "basic " + pair), filled);
  for (const std::string& own :
       {"Basic " + base64_encode("me:my own"), "Basic " + base64_encode("you:my own"),
        std::string("Basic ?"), std::string("Basic"), "Digest" + pair, "Bearer " + pair}) {
    EXPECT_EQ(applied("Authorization", own), own);
  }
  for (const char* const name : {"Authorization", "Proxy-Authorization"}) {
    EXPECT_EQ(applied(name, "Basic " + base64_encode("you:ph-123456")), "the placeholder of T");
  }
  EXPECT_EQ(applied("Proxy-Authorization", "Basic " + pair), "the placeholder of T");
  EXPECT_EQ(target, "/?");
}

TEST(Query, PutsTheValueInForItsOwnParameterAlone) {
  Credential text = credential();
  text.query = "key";
  const Credentials query({{text, "ph-123456", "re-abcdef"}});
  const auto applied = [&](std::string target) {
    Fields none;
    const auto named = query.apply("h.test", 443, true, none, target);
    return named ? "the placeholder of " + *named : target;
  };
  EXPECT_EQ(applied("/a?b=1&key=ph-123456&c"), "/a?b=1&key=re-abcdef&c");
  for (const char* const own : {"/", "/a?", "/a?key", "/a?key=mine", "/a?key=&b=1", "/a?b=key"}) {
    EXPECT_EQ(applied(own), own);
  }
  for (const char* const wrong : {"/?other=ph-123456", "/?ph-123456", "/key=ph-123456"}) {
    EXPECT_EQ(applied(wrong), "the placeholder of T") << wrong;
  }
}

// What a stream has brought so far may begin one in any spelling.
TEST_F(Bound, WhatMayBeginOneWaits) {
  EXPECT_EQ(credentials.open_end("abc"), 0U);
  EXPECT_EQ(credentials.open_end("x ph-12"), 5U);
  EXPECT_EQ(credentials.open_end("100%"), 1U);
  EXPECT_EQ(credentials.open_end("x%2"), 2U);
  EXPECT_EQ(credentials.open_end("x%20"), 0U);
  const std::string escaped = "%70%68-%31%323456";
  for (std::size_t size = 1; size < escaped.size(); ++size) {
    EXPECT_EQ(credentials.open_end("x y" + escaped.substr(0, size)), size) << size;
  }
  EXPECT_EQ(credentials.find(escaped), "T");
}

// However often an origin decodes; and no work is done anew for each time.
TEST_F(Bound, EscapesInEscapesAreReadToTheEnd) {
  for (const std::size_t depth : {0, 1, 2, 3, 4, 5, 9, 1000, 20'000}) {
    std::string nest = "%";
    for (std::size_t i = 0; i < depth; ++i) nest += "25";
    EXPECT_EQ(credentials.find("a=" + nest + "70h-123456&"), "T") << depth;
    EXPECT_EQ(credentials.find(nest + nest + "37%300" + nest), std::nullopt) << depth;
  }
  EXPECT_EQ(credentials.find("%2%35%37%30h-123456"), "T");
  EXPECT_EQ(credentials.find("%%%%%%%%%%25%2525"), std::nullopt);
}

TEST_F(Bound, NoFieldOfAnAnswerIsNamedByAValue) {
  Fields fields = {{"X-RE-Abcdef", "1"}, {"x-other", "re-abcdef"}};
  credentials.redact(fields);
  EXPECT_EQ(fields[0].name, "x-redacted");
  EXPECT_EQ(fields[1].value, "ph-123456");
}

TEST(Values, AreKnownAsTextsSpellThem) {
  const Credential text = credential();
  const Credentials odd({{text, "ph/234567+90\"2", "re/bcd+fgh\"j&"}});
  for (const char* const echo : {"re/bcd+fgh\\\"j&", "re\\/bcd+fgh\\\"j&", "re/bcd+fgh&quot;j&amp;",
                                 "re/bcd%2Bfgh%22j%26", "re%2fbcd%2bfgh%22j%26"}) {
    const std::string out = redacted(odd.values(), "<" + std::string(echo) + ">");
    EXPECT_EQ(out.find("bcd"), std::string::npos) << out;
    EXPECT_EQ(out.size(), std::string(echo).size() + 2);
  }
}

// As the encoders of JSON and HTML of many languages have them, with their numbers in either case.
TEST(Values, AreKnownByTheNumbersOfTheirLetters) {
  const Credential text = credential();
  const Credentials odd(
      {{text, "xx&xx<xxx>x+12'xx\"xxxxxxxxx", "pa&ss<wor>d+12'\u00e4x\"\U0001F511y"}});
  for (const char* const echo :
       {R"(pa\u0026ss\u003cwor\u003ed+12'\u00e4x\"\ud83d\udd11y)",                // Ruby, to ASCII
        "pa\\u0026ss\\u003cwor\\u003ed+12'\u00e4x\\\"\U0001F511y",                // Go
        "pa\\u0026ss\\u003Cwor\\u003Ed+12\\u0027\u00e4x\\u0022\U0001F511y",       // PHP
        R"(pa\u0026ss\u003Cwor\u003Ed\u002B12\u0027\u00E4x\u0022\uD83D\uDD11y)",  // .NET
        R"(pa&ss<wor>d+12'\u00e4x\"\ud83d\udd11y)",                               // Python
        "pa&amp;ss&lt;wor&gt;d&#43;12&#39;\u00e4x&#34;\U0001F511y",               // Go
        "pa&amp;ss&lt;wor&gt;d+12&#x27;\u00e4x&quot;\U0001F511y",                 // Python
        "pa&amp;ss&lt;wor&gt;d+12'\u00e4x\"\U0001F511y",                          // as text
        "pa&amp;ss&lt;wor&gt;d+12&#039;\u00e4x&quot;\U0001F511y",                 // PHP
        "pa&amp;ss&lt;wor&gt;d+12&apos;\u00e4x&quot;\U0001F511y",                 // XML
        "pa&amp;ss&lt;wor&gt;d&#x2b;12&#x27;&#xe4;x&quot;&#x1f511;y",             // either case
        "pa&amp;ss&lt;wor&gt;d&#x2B;12&#x27;&#xE4;x&quot;&#x1F511;y"}) {          // .NET
    const std::string out = redacted(odd.values(), "<" + std::string(echo) + ">");
    EXPECT_EQ(out.find("wor"), std::string::npos) << echo << "\n" << out;
    EXPECT_EQ(out.size(), std::string(echo).size() + 2);
  }
}

// Many servers read the bytes of a field as letters of Latin-1.
TEST(Values, AreKnownAsServersReadThemByteByByte) {
  const Credential text = credential();
  const Credentials odd({{text, "pl-123456", "p\u00e4&word\u00fc"}});
  for (const std::string echo :
       {R"(p\u00c3\u00a4&word\u00c3\u00bc)", "p\u00c3\u00a4&word\u00c3\u00bc",
        "p&#195;&#164;&amp;word&#195;&#188;", "p%C3%83%C2%A4%26word%C3%83%C2%BC"}) {
    const std::string out = redacted(odd.values(), "<" + echo + ">");
    EXPECT_EQ(out.find("word"), std::string::npos) << echo << "\n" << out;
    EXPECT_EQ(out.size(), echo.size() + 2);
  }
  const std::string coded =
      redacted(odd.values(), base64_encode("x:p\u00c3\u00a4&word\u00c3\u00bc"));
  EXPECT_EQ(base64_decode(coded).value_or("").find("word"), std::string::npos);
}

// The spelling of forms has a plus for a space.
TEST(Spaces, AreKnownAsFormsSpellThem) {
  Credential text = credential();
  text.query = "my key";
  const Credentials words({{text, "pass/ed word 12", "real/value of 7"}});
  Fields none;
  std::string target = "/?my+key=pass%2Fed+word+12&b=1";
  EXPECT_EQ(words.apply("h.test", 443, true, none, target), std::nullopt);
  EXPECT_EQ(target, "/?my+key=real%2Fvalue%20of%207&b=1");
  for (const std::string form : {"pass%2Fed+word+12", "pass%2fed+word%2012", "pass/ed+word+12"}) {
    target = "/?other=" + form;
    EXPECT_EQ(words.apply("h.test", 443, true, none, target), "T") << form;
    EXPECT_EQ(words.find("o=" + form + "&"), "T") << form;
    for (std::size_t size = 1; size < form.size(); ++size) {
      EXPECT_EQ(words.open_end("x=" + form.substr(0, size)), size) << form << " " << size;
    }
  }
  for (const char* const echo : {"real%2Fvalue+of+7", "real%2fvalue+of+7", "real/value+of+7"}) {
    const std::string out = redacted(words.values(), "<" + std::string(echo) + ">");
    EXPECT_EQ(out.find("value"), std::string::npos) << out;
    EXPECT_EQ(out.size(), std::string(echo).size() + 2);
  }
}

// Byte by byte, as whole, in every other cut.
std::string cut(const std::vector<Replacement>& words, std::string_view text, std::size_t size) {
  Redactor redactor(words);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size) {
    out += redactor.feed(text.substr(at, size));
  }
  return out += redactor.finish();
}

// A shorter one that has come whole may be a part of a longer one that has not.
TEST(Values, OfWhichOneBeginsAnotherAreToldApartWhereverTheyAreCut) {
  Credential text = credential();
  text.basic = "me";
  const Credentials both({{text, "pl-aceholder", "se-cretvalue"},
                          {text, "pl-aceholder-longest", "se-cretvalue-andmore"},
                          {text, "12se", "ue-a"}});
  const std::string basic = base64_encode("me:se-cretvalue");
  const std::string echo = "<se-cretvalue><se-cretvalue-andmore>" + basic + "|" +
                           base64_encode("me:se-cretvalue-andmore") + "<se-cretvalue-";
  const std::string whole = cut(both.values(), echo, echo.size());
  EXPECT_TRUE(whole.starts_with("<pl-aceholder><pl-aceholder-longest>" +
                                base64_encode("me:pl-aceholder") + "|"));
  for (std::size_t size = 1; size < echo.size(); ++size) {
    const std::string out = cut(both.values(), echo, size);
    EXPECT_EQ(out, whole) << size;
  }
}

TEST(Values, ThatWereRenewedAreStillKnown) {
  const Credential text = credential();
  BoundSecret bound{text, "pl-&aceholder", "se-&cret-0000"};
  Credentials renewed({bound, bound});  // in many spellings
  for (int i = 1; i < 9; ++i) renewed.renew(0, "se-&cret-000" + std::to_string(i));
  EXPECT_EQ(renewed.bound()[0].earlier.front(), "se-&cret-0007");
  const Credentials next(renewed.bound());  // of the process after this one
  for (const char* const echo : {"se-&cret-0000", "se-&cret-0007", "se-&cret-0008"}) {
    EXPECT_EQ(redacted(renewed.values(), echo), "pl-&aceholder") << echo;
    EXPECT_EQ(redacted(next.values(), echo), "pl-&aceholder") << echo;
  }
  EXPECT_LT(renewed.values().size(), 1024U);
  renewed.renew(0, "se-&cret-0008");  // the same again
  EXPECT_EQ(renewed.bound()[0].earlier.front(), "se-&cret-0007");
  bound.secret = "s999";
  for (int i = 900; i < 964; ++i) bound.earlier.push_back("s" + std::to_string(i));
  Credentials often({bound});
  often.renew(0, "s-new");
  EXPECT_EQ(often.bound()[0].earlier.size(), 64U);
  EXPECT_EQ(often.bound()[0].earlier.front(), "s999");
  EXPECT_EQ(often.bound()[0].earlier.back(), "s962");
}

// Else what has nothing to do with a short one would be replaced as well.
TEST(Values, OfFewLettersAreKnownAsTheyAreAlone) {
  const Credential text = credential();
  const Credentials few({{text, "p&1", "a/b"}});
  for (const Replacement& value : few.values()) {
    EXPECT_TRUE(value.from == "a/b" || value.from.size() >= 6) << value.from;
  }
}

TEST_F(Bound, AnswersHoldThePlaceholderInstead) {
  EXPECT_EQ(redacted(credentials.values(), "a re-abcdef b"), "a ph-123456 b");
  const std::string coded = redacted(credentials.values(), base64_encode("x:re-abcdef:y"));
  EXPECT_EQ(base64_decode(coded).value_or("").find("re-abcdef"), std::string::npos);
}

}  // namespace
}  // namespace sbx::http
