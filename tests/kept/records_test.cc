// SPDX-License-Identifier: Apache-2.0
// What is written down of layers comes back as it was; what is damaged is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include "base/owned_fd.h"
#include "journal.h"
#include "kept/base_records.h"
#include "kept/state.h"
#include "kept/store.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

LayerState sample() {
  LayerState state;
  state.workspace = "/w\n\xff";
  state.roots = {"/w\n\xff", "/other"};
  state.stack = {"0123456789abcdef", "fedcba9876543210"};
  state.labels = {{"a:b,c", {"0123456789abcdef"}}, {"empty", {}}};
  state.protects = {"/w/.git/hooks"};
  state.is_thrown_away = true;
  state.committed = "0123456789abcdef";
  state.shown = {"fedcba9876543210", "0123456789abcdef"};
  return state;
}

TEST(LayerStateText, ComesBackAsItWas) {
  const LayerState was = sample();
  const Result<LayerState> is = decode_layer_state(encode_layer_state(was));
  ASSERT_TRUE(is.ok());
  EXPECT_TRUE(is.value() == was);
}

TEST(LayerStateText, OfALayerWhoseRunsItCountedIsReadToo) {
  const std::string text =
      encode_layer_state(sample()) + std::string("runs=7") + std::string(1, '\0');
  const Result<LayerState> is = decode_layer_state(text);
  ASSERT_TRUE(is.ok());
  EXPECT_TRUE(is.value() == sample());
}

TEST(LayerStateText, IsRefusedWhereItIsCutShort) {
  const std::string whole = encode_layer_state(sample());
  std::size_t good = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (!decode_layer_state(whole.substr(0, size)).ok()) continue;
    ++good;
    EXPECT_EQ(whole[size - 1], '\0') << size;
  }
  EXPECT_GT(good, 0U) << "records behind the stack may be missing";
}

TEST(LayerStateText, IsRefusedWithAnEpochThatLeadsElsewhere) {
  LayerState state = sample();
  state.stack = {"../../../../etc"};
  EXPECT_FALSE(decode_layer_state(encode_layer_state(state)).ok());
}

TEST(BaseRecords, ADirectoryThatIsHiddenLaterIsSoAfterALoad) {
  const test::TempDir dir;
  BaseRecords was;
  was.add(0, "d", {BaseRecord::kDirectory, 0755, "", 0});
  was.add(0, "e", {BaseRecord::kDirectory, 0700, "", 0});
  was.add(0, "f", {BaseRecord::kFile, 0600, "digest", 0});
  ASSERT_TRUE(was.save(dir.at("base")).ok());
  was.hide(0, "d");
  was.hide(0, "none");
  was.hide(0, "f");
  ASSERT_TRUE(was.save(dir.at("base")).ok());
  BaseRecords is;
  is.load(dir.at("base"));
  ASSERT_EQ(is.all().size(), 3U);
  EXPECT_TRUE(is.find(0, "d")->is_hidden);
  EXPECT_EQ(is.find(0, "d")->kind, BaseRecord::kDirectory);
  EXPECT_EQ(is.find(0, "d")->mode, 0755U);
  EXPECT_FALSE(is.find(0, "e")->is_hidden);
  EXPECT_FALSE(is.find(0, "f")->is_hidden);
}

TEST(BaseRecordText, ComesBackAsItWas) {
  const BaseRecord was{BaseRecord::kFile, 04755, "digest", -5};
  const std::string text = encode_base_record(3, "a b\n/c", was);
  std::size_t root = 0;
  std::string path;
  BaseRecord is;
  ASSERT_TRUE(
      decode_base_record(std::string_view(text).substr(0, text.size() - 1), root, path, is));
  EXPECT_EQ(root, 3U);
  EXPECT_EQ(path, "a b\n/c");
  EXPECT_EQ(is.mode, 04755U);
  EXPECT_EQ(is.stamp, -5);
  EXPECT_TRUE(is_same_content(was, is));
}

TEST(BaseRecordText, WhatChangedMeanwhileIsLikeNothing) {
  const BaseRecord unknown{BaseRecord::kUnknown, 0, "d", 0};
  EXPECT_FALSE(is_same_content(unknown, unknown));
}

TEST(SameFile, IsToldByEachByteAndAttributes) {
  const test::TempDir one;
  const test::TempDir other;
  const std::string text((std::size_t{2} << 16) + 5, 'x');
  for (const test::TempDir* directory : {&one, &other}) {
    directory->file("same", text);
    directory->file("empty", "");
    directory->file("shorter", text.substr(0, directory == &one ? text.size() : 7));
  }
  std::string last = text;
  last.back() = 'y';
  one.file("last", text);
  other.file("last", last);
  one.file("alone", text);
  const OwnedFd a(open(one.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const OwnedFd b(open(other.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto size = static_cast<std::int64_t>(text.size());
  EXPECT_TRUE(is_same_file_in(a.get(), b.get(), "same", size));
  EXPECT_TRUE(is_same_file_in(a.get(), b.get(), "empty", 0));
  EXPECT_FALSE(is_same_file_in(a.get(), b.get(), "last", size));
  EXPECT_FALSE(is_same_file_in(a.get(), b.get(), "shorter", size));
  EXPECT_FALSE(is_same_file_in(a.get(), b.get(), "alone", size));
  EXPECT_FALSE(is_same_file_in(a.get(), b.get(), "same", std::int64_t{1} << 40));
  if (setxattr(other.at("same").c_str(), "user.a", "1", 1, 0) != 0) {
    GTEST_SKIP() << "no user attributes in the temporary directory";
  }
  EXPECT_FALSE(is_same_file_in(a.get(), b.get(), "same", size));
}

TEST(LayerRuns, AreCounted) {
  const test::TempDir directory;
  const LayerStore store{directory.path(), false};
  EXPECT_EQ(layer_runs(store, "x"), 0);
  count_layer_run(store, "x");  // no such layer: nothing to count in
  EXPECT_EQ(layer_runs(store, "x"), 0);
  directory.directory("names/x");
  for (int i = 0; i < 11; ++i) count_layer_run(store, "x");
  EXPECT_EQ(layer_runs(store, "x"), 11);
}

TEST(JournalText, ComesBackAsItWasAndNamesNoRootThatIsNotThere) {
  Step step{1, "a", {}, {BaseRecord::kFile, 0644, "d", 0}, -1};
  const std::string text = encode_journal({step});
  const auto is = decode_journal(text, 2);
  ASSERT_TRUE(is.ok());
  ASSERT_EQ(is.value().size(), 1U);
  EXPECT_EQ(is.value()[0].to.digest, "d");
  EXPECT_EQ(is.value()[0].link, -1);
  EXPECT_FALSE(decode_journal(text, 1).ok());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto cut = decode_journal(text.substr(0, size), 2);
    EXPECT_TRUE(!cut.ok() || cut.value().empty()) << size;
  }
}

TEST(LayerNames, AreOneComponent) {
  EXPECT_TRUE(check_layer_name("a b.c", "--layer").ok());
  EXPECT_TRUE(check_layer_name("-x", "--layer").ok());
  EXPECT_TRUE(check_layer_name(std::string(200, 'x'), "--layer").ok());
  EXPECT_TRUE(check_layer_name("a-\xc3\xbc", "--layer").ok());
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a/b"), std::string("a\x01"), std::string(201, 'x'),
                                  std::string("a\xc2\x85"), std::string("a\xff")}) {
    EXPECT_FALSE(check_layer_name(name, "--layer").ok()) << name;
  }
}

}  // namespace
}  // namespace sbx
