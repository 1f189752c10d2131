// SPDX-License-Identifier: Apache-2.0
// Tests of host/closure: against ldd for this machine's own programs, and on made-up trees with
// scripts, links, loops and run paths.
#include "host/closure.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "base/text.h"
#include "host/elf_builder.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

using test::build_elf;
using test::TempDir;

constexpr const char* kPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

ToolClosure close(const std::vector<std::string>& names, const std::string& path = kPath) {
  Result<ToolClosure> closed = close_over_tools(names, path);
  EXPECT_TRUE(closed.ok());
  return closed.ok() ? std::move(closed).value() : ToolClosure();
}

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string real(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path found = std::filesystem::canonical(path, problem);
  return problem ? "" : found.string();
}

// The files that ldd says the loader would map, without links; empty where ldd cannot tell.
std::set<std::string> files_by_ldd(const std::string& program) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen(("ldd " + program + " 2>/dev/null").c_str(), "re"), ::pclose);
  std::set<std::string> files;
  std::string text;
  char chunk[4096];
  while (pipe && std::fgets(chunk, sizeof(chunk), pipe.get()) != nullptr) text += chunk;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos) continue;
    const std::string found = real(std::string(line.substr(path, line.find(' ', path) - path)));
    if (!found.empty()) files.insert(found);
  }
  return files;
}

// Every path of the closure's links must lead, by its own links alone, to something that is shown.
void expect_links_lead_inside(const ToolClosure& closure) {
  for (const auto& [link, target] : closure.symlinks) {
    char text[4096] = {};
    ASSERT_GT(::readlink(link.c_str(), text, sizeof(text) - 1), 0) << link;
    EXPECT_EQ(target, text) << link;
    EXPECT_FALSE(has(closure.files, link)) << link;
  }
}

TEST(Closure, FindsTheLibrariesThatLddFinds) {
  int compared = 0;
  for (const char* name : {"bash", "ls", "grep", "find", "sort", "curl", "ssh", "openssl", "gcc",
                           "jq", "tar", "make", "cmake", "ninja", "xz", "gpg", "stat"}) {
    const ToolClosure closure = close({name});
    if (!closure.missing.empty()) continue;
    const std::filesystem::path program = std::filesystem::path("/usr/bin") / name;
    const std::set<std::string> wanted = files_by_ldd(program.string());
    if (wanted.empty()) continue;
    ++compared;
    for (const std::string& file : wanted) EXPECT_TRUE(has(closure.files, file)) << name << file;
    for (const std::string& file : closure.files) {
      const bool opened_later = file.find("/libgcc_s.") != std::string::npos ||
                                file.find("/libnss_") != std::string::npos ||
                                file == "/etc/ld.so.cache" || file == real(program.string());
      EXPECT_TRUE(opened_later || wanted.count(file) != 0) << name << " does not load " << file;
    }
    expect_links_lead_inside(closure);
  }
  EXPECT_GE(compared, 8);
}

TEST(Closure, FollowsEveryLinkOfAnAlternative) {
  std::error_code problem;
  if (!std::filesystem::is_symlink("/usr/bin/awk", problem)) {
    GTEST_SKIP() << "awk is not an alternative here";
  }
  const ToolClosure closure = close({"awk"});
  EXPECT_TRUE(has(closure.files, real("/usr/bin/awk")));
  EXPECT_EQ(closure.symlinks.count("/usr/bin/awk"), 1U);
  expect_links_lead_inside(closure);
}

TEST(Closure, TheShellsAreThere) {
  const ToolClosure closure = close({"sh", "bash"});
  EXPECT_TRUE(closure.missing.empty());
  EXPECT_TRUE(has(closure.files, real("/bin/sh")));
  EXPECT_TRUE(has(closure.files, real("/bin/bash")));
}

TEST(Closure, PythonComesWithItsStandardLibraryAndWhatItsModulesLoad) {
  const ToolClosure closure = close({"python3"});
  if (!closure.missing.empty()) GTEST_SKIP() << "no python3 here";
  const std::string name = std::filesystem::path(real("/usr/bin/python3")).filename().string();
  EXPECT_TRUE(has(closure.directories, "/usr/lib/" + name));
  for (const auto& entry :
       std::filesystem::directory_iterator("/usr/lib/" + name + "/lib-dynload")) {
    for (const std::string& file : files_by_ldd(entry.path().string())) {
      EXPECT_TRUE(has(closure.files, file)) << entry.path() << " loads " << file;
    }
  }
}

TEST(Closure, GitComesWithItsSubcommands) {
  const ToolClosure closure = close({"git"});
  if (!closure.missing.empty()) GTEST_SKIP() << "no git here";
  EXPECT_TRUE(has(closure.directories, "/usr/lib/git-core") ||
              has(closure.directories, "/usr/libexec/git-core"));
  for (const std::string& file : files_by_ldd("/usr/lib/git-core/git-remote-http")) {
    EXPECT_TRUE(has(closure.files, file)) << file;
  }
}

TEST(Closure, WhatIsNotThereIsNamed) {
  const TempDir dir;
  dir.file("plain", "not executable", 0644);
  dir.directory("folder");
  dir.symlink("loop", "loop");
  dir.symlink("dangling", "nowhere");
  const ToolClosure closure =
      close({"plain", "folder", "loop", "dangling", "none", "", "..", dir.at("none")}, dir.path());
  EXPECT_EQ(closure.missing.size(), 8U);
  EXPECT_TRUE(closure.files.empty());
  EXPECT_TRUE(closure.symlinks.count(dir.at("loop")) == 0);
}

TEST(Closure, ANameWithASlashMustBeAbsolute) {
  const Result<ToolClosure> closed = close_over_tools({"a/b"}, kPath);
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, ErrorCode::kPathRefused);
  EXPECT_TRUE(close({"/bin/sh"}).missing.empty());
}

TEST(Closure, RelativePlacesOfTheSearchPathAreNotSearched) {
  EXPECT_EQ(close({"sh"}, ".:bin::").missing.size(), 1U);
}

TEST(Closure, ScriptsBringTheirInterpreters) {
  const TempDir dir;
  dir.file("tool", "#!" + dir.at("second") + " -x\n", 0755);
  dir.file("second", "#!/usr/bin/env -S A=b third --flag\n", 0755);
  dir.file("third", "#!  /bin/sh", 0755);
  const ToolClosure closure = close({"tool"}, dir.path() + ":" + kPath);
  for (const char* name : {"tool", "second", "third"}) {
    EXPECT_TRUE(has(closure.files, dir.at(name))) << name;
  }
  EXPECT_TRUE(has(closure.files, real("/usr/bin/env")));
  EXPECT_TRUE(has(closure.files, real("/bin/sh")));
}

TEST(Closure, ScriptsThatNameEachOtherComeToAnEnd) {
  const TempDir dir;
  dir.file("one", "#!" + dir.at("two") + "\n", 0755);
  dir.file("two", "#!" + dir.at("one") + "\n", 0755);
  dir.file("odd", "#!relative\n", 0755);
  dir.file("empty", "#!\n", 0755);
  dir.file("nothing", "", 0755);
  EXPECT_EQ(close({"one", "odd", "empty", "nothing"}, dir.path()).files.size(), 5U);
}

TEST(Closure, LinksAreRecordedAtEveryLevel) {
  const TempDir dir;
  dir.file("usr/bin/real", "#!/none\n", 0755);
  dir.symlink("bin", "usr/bin");
  dir.symlink("usr/bin/alias", "../../bin/./real");
  const ToolClosure closure = close({"alias"}, dir.at("bin"));
  EXPECT_TRUE(has(closure.files, dir.at("usr/bin/real")));
  EXPECT_EQ(closure.symlinks.at(dir.at("bin")), "usr/bin");
  EXPECT_EQ(closure.symlinks.at(dir.at("usr/bin/alias")), "../../bin/./real");
}

TEST(Closure, AChainOfMoreLinksThanTheKernelFollowsIsMissing) {
  const TempDir dir;
  dir.file("l0", "", 0755);
  for (int i = 1; i <= 60; ++i) {
    dir.symlink("l" + std::to_string(i), "l" + std::to_string(i - 1));
  }
  EXPECT_EQ(close({"l60"}, dir.path()).missing.size(), 1U);
  EXPECT_EQ(close({"l39"}, dir.path()).missing.size(), 0U);
}

TEST(Closure, RunPathsAreFollowedWithOrigin) {
  const TempDir dir;
  dir.file("bin/tool", build_elf({"", {"liba.so"}, "", "$ORIGIN/../lib"}), 0755);
  dir.file("lib/liba.so.1", build_elf({"", {"libb.so", "libc-none.so"}, "", "${ORIGIN}/deep"}));
  dir.symlink("lib/liba.so", "liba.so.1");
  dir.file("lib/deep/libb.so", build_elf({"", {}, "", ""}));
  const ToolClosure closure = close({"tool"}, dir.at("bin"));
  EXPECT_TRUE(has(closure.files, dir.at("lib/liba.so.1")));
  EXPECT_EQ(closure.symlinks.at(dir.at("lib/liba.so")), "liba.so.1");
  EXPECT_TRUE(has(closure.files, dir.at("lib/deep/libb.so")));
}

TEST(Closure, AnRpathServesWhatIsLoadedThroughItButARunpathDoesNot) {
  const TempDir dir;
  dir.file("bin/old", build_elf({"", {"liba.so"}, "$ORIGIN/../lib", ""}), 0755);
  dir.file("bin/new", build_elf({"", {"liba.so"}, "", "$ORIGIN/../lib"}), 0755);
  dir.file("lib/liba.so", build_elf({"", {"libsbx-b.so"}, "", ""}));
  dir.file("lib/libsbx-b.so", build_elf({"", {}, "", ""}));
  EXPECT_TRUE(has(close({"old"}, dir.at("bin")).files, dir.at("lib/libsbx-b.so")));
  EXPECT_FALSE(has(close({"new"}, dir.at("bin")).files, dir.at("lib/libsbx-b.so")));
}

TEST(Closure, ALibraryOfAnotherMachineIsPassedOver) {
  const TempDir dir;
  dir.file("tool", build_elf({"", {"libm1.so"}, "", "$ORIGIN/arm:$ORIGIN/x86"}), 0755);
  dir.file("arm/libm1.so", build_elf({"", {}, "", "", EM_AARCH64}));
  dir.file("x86/libm1.so", build_elf({"", {}, "", ""}));
  const ToolClosure closure = close({"tool"}, dir.path());
  EXPECT_TRUE(has(closure.files, dir.at("x86/libm1.so")));
  EXPECT_FALSE(has(closure.files, dir.at("arm/libm1.so")));
}

TEST(Closure, LibrariesThatNameEachOtherAndPathsWithoutEndComeToAnEnd) {
  const TempDir dir;
  std::string deep;
  for (int i = 0; i < 1300; ++i) deep += "/a/";
  dir.file("tool", build_elf({"", {"liba.so"}, "", deep + ":$ORIGIN"}), 0755);
  dir.file("liba.so", build_elf({"", {"libb.so", "liba.so"}, "", "$ORIGIN"}));
  dir.file("libb.so", build_elf({"", {"liba.so"}, "", "$ORIGIN"}));
  EXPECT_TRUE(has(close({"tool"}, dir.path()).files, dir.at("libb.so")));
}

// The list of the bash_exec page. Best of several rounds, since the machine is shared.
TEST(Closure, TheDefaultToolsOfBashExecTakeLittleTime) {
  const std::vector<std::string> tools = {
      "awk",   "basename", "cat",  "cut", "date",   "dirname", "echo", "env",  "find",
      "grep",  "head",     "jq",   "ls",  "printf", "pwd",     "rg",   "sed",  "sort",
      "tail",  "tr",       "uniq", "wc",  "xargs",  "sleep",   "stat", "test", "true",
      "false", "mkdir",    "rm",   "cp",  "mv",     "touch"};
  double best_ms = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const ToolClosure closure = close(tools);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    EXPECT_GT(closure.files.size(), 30U);
    best_ms = std::min(best_ms, spent.count());
  }
  RecordProperty("best_us", static_cast<int>(best_ms * 1000));
  EXPECT_LT(best_ms, 5000);  // 1.2 ms on a quiet machine: a bound against quadratic work only
}

}  // namespace
}  // namespace sbx
