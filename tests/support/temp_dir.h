// SPDX-License-Identifier: Apache-2.0
// A directory that lives as long as a test, and files in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/files.h"

namespace sbx::test {

class TempDir {
 public:
  TempDir() {
    std::string path = (std::filesystem::temp_directory_path() / "sbx-test-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
    EXPECT_FALSE(path_.empty());
  }
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }

  std::string directory(const std::string& name) const {
    std::filesystem::create_directories(at(name));
    return at(name);
  }
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
    EXPECT_EQ(::chmod(at(name).c_str(), mode), 0);
    return at(name);
  }
  std::string symlink(const std::string& name, const std::string& target) const {
    std::filesystem::create_symlink(target, at(name));
    return at(name);
  }

 private:
  std::string path_;
};

// Empty where it cannot be read.
inline std::string slurp(const std::string& path) {
  Result<std::string> text = read_file(path, std::size_t{256} << 20);
  return text.ok() ? std::move(text).value() : "";
}

}  // namespace sbx::test
