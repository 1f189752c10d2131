// SPDX-License-Identifier: Apache-2.0
// memmem(3) finds whole words; a beginning at the end is looked for byte by byte.
#include "http/redactor.h"

#include <string.h>

#include <algorithm>

namespace sbx::http {

std::size_t open_suffix(const std::vector<Replacement>& words, std::string_view text) {
  std::size_t longest = 0;
  for (const Replacement& word : words) {
    const std::size_t most = std::min(word.from.size() - 1, text.size());
    for (std::size_t size = most; size > longest; --size) {
      if (text.ends_with(std::string_view(word.from).substr(0, size))) longest = size;
    }
  }
  return longest;
}

std::string Redactor::feed(std::string_view bytes) {
  held_ += bytes;
  for (const Replacement& word : *words_) {
    char* at = held_.data();
    char* const end = at + held_.size();
    while ((at = static_cast<char*>(memmem(at, static_cast<std::size_t>(end - at), word.from.data(),
                                           word.from.size()))) != nullptr) {
      at = std::copy(word.to.begin(), word.to.end(), at);
    }
  }
  const std::size_t open = open_suffix(*words_, held_);
  std::string out = held_.substr(0, held_.size() - open);
  held_.erase(0, out.size());
  return out;
}

std::string redacted(const std::vector<Replacement>& words, std::string_view text) {
  Redactor redactor(words);
  std::string out = redactor.feed(text);
  return out += redactor.finish();
}

}  // namespace sbx::http
