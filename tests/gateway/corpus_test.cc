// SPDX-License-Identifier: Apache-2.0
// Replays the fuzz corpora of the gateway's parsers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "../fuzz/gateway/properties.h"

namespace sbx {
namespace {

// Whole, and cut at every length up to a bound.
int replay(const std::string& target, const std::function<void(std::string_view)>& check) {
  int count = 0;
  const std::filesystem::path directory = SBX_SOURCE_DIR "/fuzz/gateway/corpus/" + target;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    check(bytes);
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 300); ++size) {
      check(std::string_view(bytes).substr(0, size));
    }
    ++count;
  }
  return count;
}

TEST(GatewayCorpus, HoldsForEveryDnsMessage) { EXPECT_GT(replay("dns", check_dns), 5); }
TEST(GatewayCorpus, HoldsForEveryClientHello) {
  EXPECT_GT(replay("client_hello", check_client_hello), 5);
}
TEST(GatewayCorpus, HoldsForEveryResolvConf) {
  EXPECT_GT(replay("resolv_conf", check_resolv_conf), 1);
}

}  // namespace
}  // namespace sbx
