// SPDX-License-Identifier: Apache-2.0
// memmem(3) finds whole words; a beginning at the end is looked for byte by byte.
#include "http/redactor.h"

#include <string.h>

#include <algorithm>
#include <utility>

namespace sbx::http {
namespace {

std::size_t find(std::string_view text, std::string_view word, std::size_t from) {
  const void* const at = memmem(text.data() + from, text.size() - from, word.data(), word.size());
  return at == nullptr ? std::string::npos : static_cast<const char*>(at) - text.data();
}

}  // namespace

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

// Words are looked for in what came, not in what stands for others of them, each of them wherever
// it begins: the cuts make no difference. The longest counts.
std::string Redactor::feed(std::string_view bytes) {
  held_ += bytes;
  shown_ += bytes;
  for (auto word = words_->rbegin(); word != words_->rend(); ++word) {
    const std::string_view from = word->from;
    std::size_t done = 0;
    for (std::size_t at = 0; (at = find(held_, from, at)) != std::string::npos; ++at) {
      const std::size_t known = std::max(done, at) - at;
      shown_.replace(at + known, from.size() - known, word->to, known);
      done = at + from.size();
    }
  }
  const std::size_t passed = held_.size() - open_suffix(*words_, held_);
  held_.erase(0, passed);
  std::string out = shown_.substr(0, passed);
  shown_.erase(0, passed);
  return out;
}

std::string Redactor::finish() {
  held_.clear();
  return std::exchange(shown_, {});
}

std::string redacted(const std::vector<Replacement>& words, std::string_view text) {
  Redactor redactor(words);
  std::string out = redactor.feed(text);
  return out += redactor.finish();
}

}  // namespace sbx::http
