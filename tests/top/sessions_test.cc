// SPDX-License-Identifier: Apache-2.0
// Sessions that listen and do not answer: whoever looks for them waits for one at a time.
#include "sessions.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rpc/socket_place.h"

namespace sbx {
namespace {

TEST(Sessions, WaitInOneRoundForOneThatDoesNotAnswer) {
  std::string runtime = (std::filesystem::temp_directory_path() / "sbx-top-XXXXXX").string();
  ASSERT_NE(mkdtemp(runtime.data()), nullptr);
  {
    std::array<OwnedFd, 8> listeners;
    std::vector<std::unique_ptr<SocketPlace>> places;
    for (OwnedFd& listener : listeners) {
      const std::string name = "s" + std::to_string(places.size()) + ".sock";
      places.push_back(
          std::make_unique<SocketPlace>(open_runtime_directory(runtime).value(), name));
      bool is_taken = false;
      ASSERT_TRUE(places.back()->listen(listener, is_taken).ok());
      ASSERT_TRUE(places.back()->write_token("t").ok());
    }
    Sessions sessions("", {{"XDG_RUNTIME_DIR", runtime}});
    for (const char* first : {"s0: ", "s1: "}) {
      const auto begun = std::chrono::steady_clock::now();
      ASSERT_TRUE(sessions.refresh().ok());
      EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
      EXPECT_TRUE(sessions.trouble().starts_with(first)) << sessions.trouble();
    }
  }
  std::filesystem::remove_all(runtime);
}

}  // namespace
}  // namespace sbx
