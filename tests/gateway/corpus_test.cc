// SPDX-License-Identifier: Apache-2.0
// Replays the fuzz corpora of the gateway's parsers.
#include "support/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "../fuzz/gateway/properties.h"

namespace sbx {
namespace {

// Whole, and cut at every length up to a bound.
int replay(const std::string& target, const std::function<void(std::string_view)>& check) {
  const auto files = corpus_files("gateway/corpus/" + target);
  for (const CorpusFile& file : files) {
    check(file.bytes);
    for (std::size_t size = 0; size < std::min<std::size_t>(file.bytes.size(), 300); ++size) {
      check(std::string_view(file.bytes).substr(0, size));
    }
  }
  return static_cast<int>(files.size());
}

TEST(GatewayCorpus, HoldsForEveryDnsMessage) { EXPECT_GT(replay("dns", check_dns), 5); }
TEST(GatewayCorpus, HoldsForEveryClientHello) {
  EXPECT_GT(replay("client_hello", check_client_hello), 5);
}
TEST(GatewayCorpus, HoldsForEveryRequest) { EXPECT_GT(replay("plain_http", check_plain_http), 5); }
TEST(GatewayCorpus, HoldsForEveryResolvConf) {
  EXPECT_GT(replay("resolv_conf", check_resolv_conf), 1);
}
TEST(GatewayCorpus, HoldsForEveryUpstream) { EXPECT_GT(replay("upstream", check_upstream), 5); }

}  // namespace
}  // namespace sbx
