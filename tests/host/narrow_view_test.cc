// SPDX-License-Identifier: Apache-2.0
// For random roots and maxima over a real tree: what is shown is never more than without them, and
// never more than they say.
#include "host/narrow_view.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/files.h"
#include "policy/policy.h"

namespace sbx {
namespace {

namespace fs = std::filesystem;

class NarrowViewTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sbx-narrow-XXXXXX";
    top_ = real_path(mkdtemp(name)).value();
    paths_.push_back(top_);
    for (std::size_t i = 0; paths_.size() < 40; ++i) {
      for (const char* part : {"/a", "/b", "/c"}) paths_.push_back(paths_[i] + part);
    }
    for (const std::string& path : paths_) fs::create_directories(path);
    std::ofstream(top_ + "/a/file") << "x";
    paths_.push_back(top_ + "/a/file");
    paths_.push_back(top_ + "/b/missing");
  }
  void TearDown() override { fs::remove_all(top_); }

  const std::string& path() { return paths_[engine_() % paths_.size()]; }
  Access access() { return static_cast<Access>(engine_() % 3); }

  static Policy policy(const std::vector<Root>& roots, const std::string& workspace,
                       const std::vector<PathMaximum>& maxima) {
    Policy out;
    out.sandbox.filesystem.base = Base::kNone;
    out.sandbox.filesystem.roots = roots;
    out.sandbox.workspace = workspace;
    out.sandbox.maxima = maxima;
    return out;
  }

  static Access shown(const View& view, const std::string& path) {
    Access access = Access::kNone;
    std::size_t size = 0;
    for (const auto* list : {&view.roots, &view.absent}) {
      for (const ViewRoot& root : *list) {
        if (!is_below(path, root.node.path) || root.node.path.size() < size) continue;
        size = root.node.path.size();
        access = root.access;
      }
    }
    return access;
  }

  std::string top_;
  std::vector<std::string> paths_;
  std::mt19937 engine_{7};
};

TEST_F(NarrowViewTest, ShowsNothingMoreThanWithoutNorThanIsAllowed) {
  std::size_t lost = 0;
  std::size_t kept = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Root> roots;
    for (std::size_t i = 1 + engine_() % 4; i > 0; --i) {
      const std::string& at = path();
      const auto same = [&](const Root& root) { return root.path == at; };
      if (std::any_of(roots.begin(), roots.end(), same)) continue;
      roots.push_back({at, access(), true, ""});
    }
    std::vector<PathMaximum> maxima;
    for (std::size_t i = 1 + engine_() % 5; i > 0; --i) {
      maxima.push_back({path(), access(), engine_() % 2 == 0 ? "/one" : "/two"});
    }
    const auto whole = inspect_roots(policy(roots, top_, {}));
    const auto narrowed = inspect_roots(policy(roots, top_, maxima));
    ASSERT_TRUE(whole.ok() && narrowed.ok());
    for (const std::string& at : paths_) {
      const Access before = shown(whole.value(), at);
      const Access after = shown(narrowed.value(), at);
      ASSERT_LE(after, before) << round << " " << at;
      ASSERT_EQ(after, std::min(before, most_access(maxima, at))) << round << " " << at;
      lost += after < before ? 1 : 0;
      kept += after == before && after != Access::kNone ? 1 : 0;
    }
  }
  EXPECT_GT(lost, 100U);
  EXPECT_GT(kept, 100U);
}

TEST_F(NarrowViewTest, HoldsARootForWhatASymlinkOnTheWayLeadsTo) {
  fs::create_directory_symlink(top_ + "/a", top_ + "/link");
  const std::vector<Root> roots = {{top_ + "/link/b", Access::kReadWrite, false, ""}};
  const View view = inspect_roots(policy(roots, top_ + "/c",
                                         {{top_ + "/a", Access::kReadOnly, "/one"},
                                          {top_ + "/a/b/c", Access::kNone, "/one"}}))
                        .value();
  EXPECT_EQ(shown(view, top_ + "/a/b"), Access::kReadOnly);
  EXPECT_EQ(shown(view, top_ + "/a/b/c"), Access::kNone);
}

TEST_F(NarrowViewTest, HoldsWhatIsNotThereYet) {
  const std::vector<Root> roots = {{top_, Access::kReadWrite, false, ""}};
  const View view =
      inspect_roots(policy(roots, top_, {{top_ + "/b/missing", Access::kNone, "/one"}})).value();
  ASSERT_EQ(view.absent.size(), 1U);
  EXPECT_EQ(view.absent[0].node.path, top_ + "/b/missing");
}

TEST_F(NarrowViewTest, LeavesWhatIsMadeAnewAndAnEtcThatMayBeSeen) {
  Policy host = policy({}, "/nonexistent",
                       {{"/proc", Access::kNone, "/one"},
                        {"/dev/null", Access::kNone, "/one"},
                        {"/usr", Access::kNone, "/one"}});
  host.sandbox.filesystem.base = Base::kHost;
  View view;
  view.etc.kind = NodeKind::kDirectory;
  view.etc_private.emplace_back();
  narrow_view(host, view);
  ASSERT_EQ(view.roots.size(), 1U);
  EXPECT_EQ(view.roots[0].node.path, "/usr");
  EXPECT_TRUE(view.absent.empty());
  EXPECT_EQ(view.etc.kind, NodeKind::kDirectory);
  EXPECT_EQ(view.etc_private.size(), 1U);
  host.sandbox.maxima.push_back({"/etc", Access::kNone, "/one"});
  narrow_view(host, view);
  EXPECT_EQ(view.etc.kind, NodeKind::kMissing);
  EXPECT_TRUE(view.etc_private.empty());
}

}  // namespace
}  // namespace sbx
