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

TEST(Grant, OfAPathWithAStarIsNoPattern) {
  EXPECT_EQ(literal_path("/srv/[a]/b"), "/srv/[a]/b");  // no pattern without a star
  EXPECT_EQ(literal_path("/srv/[a]/b*/c?\\d"), "/srv/[a]/b\\*/c\\?\\\\d");
  const std::string path = "/srv/*";
  const std::string grant = root_grant({&path, 1}, "ro");
  EXPECT_EQ(nlohmann::json::parse(grant.substr(grant.find('[')))[0]["path"], "/srv/\\*");
}

}  // namespace
}  // namespace sbx
