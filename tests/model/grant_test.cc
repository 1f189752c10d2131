// SPDX-License-Identifier: Apache-2.0
#include "model/grant.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sbx {
namespace {

TEST(Grant, IsWhatAProfileTakesWhateverThePathHolds) {
  const std::string paths[] = {"/srv/a", "/srv/q\"uote\\back\nline"};
  const std::string grant = root_grant(paths, "ro");
  ASSERT_TRUE(grant.starts_with("filesystem.roots += "));
  const auto roots = nlohmann::json::parse(grant.substr(grant.find('[')));
  ASSERT_EQ(roots.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(roots[i]["path"], paths[i]);
    EXPECT_EQ(roots[i]["access"], "ro");
  }
}

}  // namespace
}  // namespace sbx
