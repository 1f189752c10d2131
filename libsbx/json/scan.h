// SPDX-License-Identifier: Apache-2.0
// A walk over JSON text (RFC 8259) that builds nothing: says where each value ends, or at which
// byte the text breaks the grammar. Any nesting, without recursion. Does not look at UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sbx {

// Where the plain bytes of a string's text end, from `at` on: at a quote, a backslash, a control
// byte, or the end.
std::size_t end_of_plain(std::string_view text, std::size_t at);

class JsonScan {
 public:
  explicit JsonScan(std::string_view text) : text_(text) {}

  void skip_space();
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c);
  std::size_t position() const { return at_; }  // behind what was taken, or of the breach

  // One value of any kind; its text, or nullopt where it is ill-formed.
  std::optional<std::string_view> value();
  // One string with its quotes.
  std::optional<std::string_view> string();

 private:
  bool scalar();
  bool number();
  bool digits();
  bool word(std::string_view expected);
  bool escape();
  std::optional<unsigned> hex4();
  bool opened();
  bool key();

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<bool> in_object_;  // the containers that are open
};

}  // namespace sbx
