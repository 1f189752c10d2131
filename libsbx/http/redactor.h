// SPDX-License-Identifier: Apache-2.0
// Redactor: a stream with secrets in it → the same with what stands for them, of the same length;
// the cuts of the stream may fall anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbx::http {

struct Replacement {
  std::string from;  // not empty
  std::string to;    // as long
};

// Both hold back no more than what may be the beginning of a word.
class Redactor {
 public:
  // `words` must outlive it, the longest first.
  explicit Redactor(const std::vector<Replacement>& words) : words_(&words) {}
  // What can be passed on by now.
  std::string feed(std::string_view bytes);
  std::string finish();

 private:
  const std::vector<Replacement>* words_;
  std::string held_;   // as it came: a longer word may hold a shorter one
  std::string shown_;  // what stands for it so far, of the same length
};

std::string redacted(const std::vector<Replacement>& words, std::string_view text);

// How many bytes at the end of `text` may begin one of the words.
std::size_t open_suffix(const std::vector<Replacement>& words, std::string_view text);

}  // namespace sbx::http
