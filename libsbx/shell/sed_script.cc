// SPDX-License-Identifier: Apache-2.0
// Sed scripts: addresses and arguments are passed over, command by command.
#include "shell/sed_script.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "shell/marks.h"

namespace sbx::shell {
namespace {

class SedScript {
 public:
  explicit SedScript(std::string_view text) : text_(text) {}

  std::vector<std::string> read() {
    while (skip(" \t\n;{}!"), at_ < text_.size()) {
      const std::size_t before = at_;
      address();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        address();
      }
      skip(" \t!");
      if (at_ < text_.size()) command(text_[at_++]);
      if (at_ == before) break;
    }
    return std::move(texts_);
  }

 private:
  void skip(std::string_view what) {
    while (at_ < text_.size() && what.find(text_[at_]) != std::string_view::npos) ++at_;
  }

  // Up to the delimiter, which is passed.
  std::string part(char delimiter) {
    std::string out;
    for (; at_ < text_.size() && text_[at_] != delimiter; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (text_[++at_] != delimiter) out += '\\';
      }
      out += text_[at_];
    }
    if (at_ < text_.size()) ++at_;
    return out;
  }

  void address() {
    skip(" \t");
    if (at_ >= text_.size()) return;
    const char first = text_[at_];
    if (first == '/' || (first == '\\' && at_ + 1 < text_.size())) {
      at_ += first == '/' ? 1 : 2;
      part(text_[at_ - 1]);
      skip("IM");
    } else {
      skip("0123456789$~+");
    }
    skip(" \t");
  }

  std::string_view rest_of_line() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end;
    return line;
  }

  void substitute() {
    if (at_ >= text_.size()) return;
    const char delimiter = text_[at_++];
    part(delimiter);
    std::string made;
    const std::string replacement = part(delimiter);
    for (std::size_t i = 0; i < replacement.size(); ++i) {
      const bool is_escaped = replacement[i] == '\\' && i + 1 < replacement.size();
      if (is_escaped) ++i;
      const bool is_group = is_escaped && is_digit(replacement[i]);
      made += is_group || (!is_escaped && replacement[i] == '&') ? kHole : replacement[i];
    }
    const std::size_t flags = at_;
    skip("gpieImMw0123456789");
    const std::string_view given = text_.substr(flags, at_ - flags);
    if (given.find('w') != std::string_view::npos) rest_of_line();
    if (given.substr(0, given.find('w')).find('e') != std::string_view::npos)
      texts_.push_back(made);
  }

  void command(char name) {
    if (name == 's') {
      substitute();
    } else if (name == 'y') {
      const char delimiter = at_ < text_.size() ? text_[at_++] : '/';
      part(delimiter);
      part(delimiter);
    } else if (name == 'e') {
      skip(" \t");
      const std::string_view line = rest_of_line();
      texts_.emplace_back(line.empty() ? std::string_view(&kHole, 1) : line);
    } else if (name == 'a' || name == 'i' || name == 'c') {
      while (rest_of_line().ends_with('\\') && at_ < text_.size()) ++at_;
    } else if (std::string_view(":rRwWbtT#").find(name) != std::string_view::npos) {
      rest_of_line();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> texts_run_by_sed(std::string_view script) {
  return SedScript(script).read();
}

}  // namespace sbx::shell
