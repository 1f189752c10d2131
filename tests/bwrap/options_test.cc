// SPDX-License-Identifier: Apache-2.0
// The parser: what end-to-end tests beside bubblewrap cannot see from outside.
#include "bwrap/options.h"

#include <gtest/gtest.h>

namespace sbx::bwrap {
namespace {

Result<Wanted> parse(const std::vector<std::string>& arguments, Options& options,
                     const std::string& file = "") {
  return parse_options(
      arguments, [&](int) -> Result<std::string> { return file; }, options);
}

TEST(BwrapOptions, KeepsActionsInTheOrderGiven) {
  Options options;
  ASSERT_TRUE(parse({"--tmpfs", "/a", "--bind-try", "/x", "/b", "--perms", "0700", "--dir", "/c",
                     "--", "program", "--tmpfs", "/d"},
                    options)
                  .ok());
  ASSERT_EQ(options.actions.size(), 3U);
  EXPECT_EQ(options.actions[0].perms, 0755);
  EXPECT_EQ(options.actions[1].kind, ActionKind::kBind);
  EXPECT_TRUE(options.actions[1].optional);
  EXPECT_EQ(options.actions[2].perms, 0700);
  EXPECT_EQ(options.command, (std::vector<std::string>{"program", "--tmpfs", "/d"}));
}

TEST(BwrapOptions, ArgumentsOfAFileStandWhereTheFileIsNamed) {
  Options options;
  const std::string file("--dir\0/b\0", 9);
  ASSERT_TRUE(parse({"--dir", "/a", "--args", "3", "--dir", "/c", "x"}, options, file).ok());
  ASSERT_EQ(options.actions.size(), 3U);
  EXPECT_EQ(options.actions[1].dest, "/b");
  EXPECT_EQ(options.command, std::vector<std::string>{"x"});
}

TEST(BwrapOptions, TheTopmostOverlaySourceIsTheLastNamed) {
  Options options;
  ASSERT_TRUE(parse({"--overlay-src", "/low", "--overlay-src", "/high", "--tmp-overlay", "/o", "x"},
                    options)
                  .ok());
  EXPECT_EQ(options.actions[0].lowers, (std::vector<std::string>{"/high", "/low"}));
}

TEST(BwrapOptions, DescriptorsBeyondAnIntAreRefusedRatherThanCut) {
  Options options;
  const auto wanted = parse({"--sync-fd", "4294967299", "x"}, options);
  ASSERT_FALSE(wanted.ok());
  EXPECT_EQ(wanted.error().message, "Invalid fd: 4294967299");
}

TEST(BwrapOptions, CapabilitiesAreAddedAndDroppedInOrder) {
  Options options;
  ASSERT_TRUE(parse({"--cap-add", "ALL", "--cap-drop", "cap_chown", "x"}, options).ok());
  EXPECT_EQ(options.capabilities, ~std::uint64_t{1});
  EXPECT_TRUE(options.sets_capabilities);
}

TEST(BwrapOptions, ACallerWithoutPrivilegesGetsAUserNamespace) {
  Options options;
  Caller caller;
  caller.uid = 1000;
  ASSERT_TRUE(check_options(options, caller).ok());
  EXPECT_TRUE(options.unshare_user);
  EXPECT_EQ(options.uid, 1000);
}

TEST(BwrapOptions, TryingForAUserNamespaceDoesWithoutWhereThereAreNone) {
  Options options;
  options.unshare_user_try = true;
  Caller caller;
  caller.user_namespaces = false;
  ASSERT_TRUE(check_options(options, caller).ok());
  EXPECT_FALSE(options.unshare_user);
}

}  // namespace
}  // namespace sbx::bwrap
