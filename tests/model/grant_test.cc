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

TEST(Grant, IsReadBackInItsParts) {
  const std::string both = append_grant("network.allow", R"("a.org", "b.org")");
  const GrantParts list = grant_parts(both);
  EXPECT_EQ(list.setting, "network.allow");
  EXPECT_TRUE(list.appends);
  EXPECT_EQ(list.value, R"(["a.org", "b.org"])");
  const std::string with_mode = std::string(kWithItsMode) + append_grant("network.allow", "\"a\"");
  EXPECT_EQ(grant_parts(with_mode).setting, "network.allow");
  EXPECT_EQ(grant_parts(with_mode).value, "[\"a\"]");
  const GrantParts value = grant_parts("limits.tmp_mb = 512");
  EXPECT_EQ(value.setting, "limits.tmp_mb");
  EXPECT_FALSE(value.appends);
  EXPECT_EQ(value.value, "512");
  for (const char* const advice : {"", "--with rust", "remove it from filesystem.protect", "a+=1"})
    EXPECT_EQ(grant_parts(advice).setting, "") << advice;
}

}  // namespace
}  // namespace sbx
