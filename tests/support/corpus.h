// SPDX-License-Identifier: Apache-2.0
// The files of a fuzzer's corpus, and the fuzzer's entry point, for the tests that replay them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

// Linked in from the fuzz target that the test names.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sbx {

struct CorpusFile {
  std::string path;
  std::string bytes;
};

// Every file of fuzz/`directory`. Throws where there is no such directory.
inline std::vector<CorpusFile> corpus_files(const std::string& directory) {
  std::vector<CorpusFile> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(SBX_SOURCE_DIR "/fuzz/" + directory)) {
    files.push_back({entry.path(), read_file(entry.path(), std::size_t{256} << 20).value()});
  }
  return files;
}

// A breach of a property aborts; the answer is 0 for every input.
inline bool fuzz_target_holds(std::string_view bytes) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                bytes.size()) == 0;
}

}  // namespace sbx
