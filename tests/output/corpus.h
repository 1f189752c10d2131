// SPDX-License-Identifier: Apache-2.0
// Reads the files of a fuzz corpus, for tests that replay them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

namespace sbx {

// Name and content of every file of fuzz/output/corpus/TARGET.
inline std::vector<std::pair<std::string, std::string>> read_corpus(const std::string& target) {
  std::vector<std::pair<std::string, std::string>> files;
  const std::filesystem::path directory = SBX_SOURCE_DIR "/fuzz/output/corpus/" + target;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files.emplace_back(entry.path().filename().string(),
                       read_file(entry.path(), std::size_t{256} << 20).value());
  }
  return files;
}

}  // namespace sbx
