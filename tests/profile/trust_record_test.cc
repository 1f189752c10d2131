// SPDX-License-Identifier: Apache-2.0
// What is written down is read as it was, and nothing else is; the fuzz target's corpus is
// replayed, cut short at every byte as well.
#include "profile/trust_record.h"

#include <gtest/gtest.h>

#include "../../fuzz/trust/property.h"
#include "support/corpus.h"

namespace sbx {
namespace {

const std::string kDigest(64, 'a');

TEST(TrustRecord, IsReadAsItWasWritten) {
  const TrustedFiles files = {kDigest + "/one", kDigest + "/two\n\xff", std::string(64, '0') + "/"};
  EXPECT_EQ(parse_trust_record(trust_record(files)), files);
  EXPECT_TRUE(parse_trust_record(trust_record({})).empty());
}

TEST(TrustRecord, TrustsForNobodyWhereItIsAnyOther) {
  const std::string good = trust_record({kDigest + "/one", kDigest + "/two"});
  ASSERT_EQ(parse_trust_record(good).size(), 2U);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const bool ends_at_the_first = size == kDigest.size() + 5;
    EXPECT_EQ(parse_trust_record(good.substr(0, size)).size(), ends_at_the_first ? 1U : 0U) << size;
  }
  for (const std::string& bad :
       {good + good, good + '\0', '\0' + good, trust_record({kDigest + "one"}),
        trust_record({kDigest.substr(1) + "/one"}), trust_record({std::string(64, 'A') + "/one"}),
        trust_record({kDigest + "/two"}) + trust_record({kDigest + "/one"})}) {
    EXPECT_TRUE(parse_trust_record(bad).empty());
  }
}

TEST(TrustRecord, CorpusReplaysWithoutABreach) {
  const auto files = corpus_files("trust/corpus");
  EXPECT_GE(files.size(), 15U);
  for (const CorpusFile& file : files) {
    for (std::size_t size = 0; size <= file.bytes.size(); ++size) {
      check_trust_record(std::string_view(file.bytes).substr(0, size));
    }
  }
}

}  // namespace
}  // namespace sbx
