// SPDX-License-Identifier: Apache-2.0
// DenialLedger: what is alike is counted, what is too much stands in an entry that says so.
#include "model/denial.h"

#include <gtest/gtest.h>

#include <string>

namespace sbx {
namespace {

Denial refusal(Refuser layer, const std::string& operation, const std::string& target) {
  return {layer, operation, target, 1, "curl", "grant of " + target};
}

TEST(DenialLedger, CountsWhatIsAlikeInOneEntry) {
  DenialLedger ledger;
  ledger.count(refusal(Refuser::kNetwork, "connect", "a:80"));
  ledger.count(refusal(Refuser::kNetwork, "connect", "a:80"));
  Denial thrice = refusal(Refuser::kNetwork, "connect", "a:80");
  thrice.count = 3;
  ledger.count(thrice);
  const auto entries = ledger.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0], (Denial{Refuser::kNetwork, "connect", "a:80", 5, "curl", "grant of a:80"}));
}

TEST(DenialLedger, KeepsApartWhatDiffersInAnyField) {
  DenialLedger ledger;
  const Denial first = refusal(Refuser::kMount, "open", "/a");
  ledger.count(first);
  for (std::string Denial::*const field :
       {&Denial::operation, &Denial::target, &Denial::program, &Denial::grant}) {
    Denial other = first;
    other.*field = "landlock";
    ledger.count(other);
  }
  Denial by_another = first;
  by_another.layer = Refuser::kLandlock;
  ledger.count(by_another);
  EXPECT_EQ(ledger.entries().size(), 6U);
}

TEST(DenialLedger, ListsThemAsTheyCame) {
  DenialLedger ledger;
  ledger.count(refusal(Refuser::kNetwork, "dns", "z"));
  ledger.count(refusal(Refuser::kMount, "open", "/y"));
  ledger.count(refusal(Refuser::kNetwork, "dns", "a"));
  ledger.count(refusal(Refuser::kNetwork, "dns", "z"));
  const auto entries = ledger.entries();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].target, "z");
  EXPECT_EQ(entries[1].target, "/y");
  EXPECT_EQ(entries[2].target, "a");
}

TEST(DenialLedger, CountsWhatIsTooMuchInALastEntryThatStandsForOthers) {
  DenialLedger ledger;
  for (int i = 0; i < 400; ++i) {
    ledger.count(refusal(Refuser::kNetwork, "connect", "host" + std::to_string(i)));
  }
  ledger.count(refusal(Refuser::kNetwork, "connect", "host7"));  // one that has an entry
  ledger.count(refusal(Refuser::kNetwork, "udp", "host500"));    // others of another operation
  const auto entries = ledger.entries();
  ASSERT_EQ(entries.size(), DenialLedger::kMostOfALayer + 2);
  for (std::size_t i = 0; i < DenialLedger::kMostOfALayer; ++i) {
    EXPECT_EQ(entries[i].target, "host" + std::to_string(i));
    EXPECT_EQ(entries[i].count, i == 7 ? 2U : 1U);
  }
  EXPECT_EQ(entries[256], (Denial{Refuser::kNetwork, "connect", "(others)", 144, "", ""}));
  EXPECT_EQ(entries[257], (Denial{Refuser::kNetwork, "udp", "(others)", 1, "", ""}));
}

TEST(DenialLedger, DoesNotLetOneLayersRefusalsCrowdOutAnothers) {
  DenialLedger ledger;
  for (int i = 0; i < 300; ++i)
    ledger.count(refusal(Refuser::kSeccomp, "mount", std::to_string(i)));
  ledger.count(refusal(Refuser::kNetwork, "connect", "a:80"));
  const auto entries = ledger.entries();
  ASSERT_EQ(entries.size(), 258U);
  EXPECT_EQ(entries[256].target, "a:80");
  EXPECT_EQ(entries[257], (Denial{Refuser::kSeccomp, "mount", "(others)", 44, "", ""}));
}

TEST(DenialLedger, AlwaysNamesWhatWasFoundOutAboutTheRun) {
  DenialLedger ledger;
  for (int i = 0; i < 300; ++i) ledger.count(refusal(Refuser::kMount, "open", std::to_string(i)));
  ledger.add({Refuser::kMount, "protected_created", "/w/.git/hooks", 1, "", ""});
  ledger.add({Refuser::kMount, "protected_created", "/w/.envrc", 1, "", ""});
  const auto entries = ledger.entries();
  ASSERT_EQ(entries.size(), 259U);
  EXPECT_EQ(entries[256].target, "/w/.git/hooks");
  EXPECT_EQ(entries[257].target, "/w/.envrc");
  EXPECT_EQ(entries[258].target, DenialLedger::kOthers);
}

TEST(DenialLedger, CutsTextsThatTheCommandMadeLong) {
  DenialLedger ledger;
  for (int i = 0; i < 3; ++i) {
    ledger.count({Refuser::kMount, "open", std::string(1 << 20, 'a') + std::to_string(i), 1,
                  std::string(1 << 20, 'b'), std::string(1 << 20, 'c')});
  }
  const auto entries = ledger.entries();
  ASSERT_EQ(entries.size(), 1U);  // alike, as far as they are kept
  EXPECT_EQ(entries[0].count, 3U);
  EXPECT_EQ(entries[0].target.size(), DenialLedger::kMostText);
  EXPECT_EQ(entries[0].program.size(), DenialLedger::kMostText);
  EXPECT_EQ(entries[0].grant.size(), DenialLedger::kMostText);
}

TEST(MakePrintable, ShowsBytesThatATerminalWouldObey) {
  Denial denial{Refuser::kNetwork,
                "dns",
                "a\x1b[2J\n",
                1,
                "\xff"
                "b\r",
                "grant \x9b"};
  make_printable(denial);
  EXPECT_EQ(denial,
            (Denial{Refuser::kNetwork, "dns", "a\\x1b[2J\\x0a", 1, "\\xffb\\x0d", "grant \\x9b"}));
}

}  // namespace
}  // namespace sbx
