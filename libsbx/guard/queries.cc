// SPDX-License-Identifier: Apache-2.0
// Queries: words, strings and comments told apart by what the dialects share; where they differ,
// everything is read.
#include "guard/queries.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>

#include "shell/arguments.h"

namespace sbx::guard {
namespace {

// What is dropped with the data in it.
constexpr std::string_view kHolders =
    "database table schema user role keyspace owned materialized tablespace partition measurement "
    "series shard retention dictionary collection bucket graph";
// Calls, without blanks.
constexpr std::string_view kCalls[] = {".drop(",        "dropdatabase(",  "dropalluser",
                                       "deletemany({}", "deletemany()",   ".remove({}",
                                       ".remove()",     "dropcollection("};
// Another statement may begin behind these words.
constexpr std::string_view kOpeners = "begin then else do go";
// Strings become statements.
constexpr std::string_view kExecutors = "execute exec prepare gexec sp_executesql";

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 0x80 ? std::tolower(c) : c); });
  return out;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_word(char c) {
  return c == '_' || static_cast<unsigned char>(c) >= 0x80 ||
         std::isalnum(static_cast<unsigned char>(c)) != 0;
}

class QueryReader {
 public:
  // `text` is in lower case.
  QueryReader(std::string_view text, bool reads_all) : text_(text), reads_all_(reads_all) {}

  bool drops() {
    while (at_ < text_.size() && !drops_) step();
    end_statement();
    return drops_;
  }
  // Dialects read it in more than one way.
  bool is_ambiguous() const { return is_ambiguous_; }

 private:
  bool begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void step() {
    const char c = text_[at_];
    if (is_word(c)) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      return take(text_.substr(begin, at_ - begin));
    }
    if (is_space(c)) {
      if (c == '\n' && ends_with_line_) end_statement();
      ++at_;
      return;
    }
    if (!reads_all_ && (c == '\'' || c == '"' || c == '`')) return quoted(c);
    if (begins("/*")) return reads_all_ ? open_comment() : comment();
    if (reads_all_ && begins("*/")) return void(at_ += 2);
    if (!reads_all_ && begins("--")) return line_comment();
    if (c == '#' || c == '$') is_ambiguous_ = true;
    ++at_;
    previous_ = {};
    if (c == ';') return end_statement();
    if (c == '(') ++depth_;
    if (c == ')') close();
    if (c == '\\' && at_ < text_.size() && text_[at_] == 'g') return end_statement();
    if ((c == '\\' || c == '.') && words_ == 0) ends_with_line_ = true;  // the client's own
  }

  void quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos || text_.substr(at_, end - at_).ends_with('\\'))
      is_ambiguous_ = true;
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    take("\"");
  }

  void comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    const std::string_view inner = text_.substr(at_ + 2, end == text_.npos ? end : end - at_ - 2);
    // One that runs, one that is nested.
    if (end == text_.npos || inner.starts_with('!') || inner.starts_with('+') ||
        inner.starts_with("m!") || inner.find("/*") != inner.npos) {
      is_ambiguous_ = true;
    }
    at_ = end == text_.npos ? text_.size() : end + 2;
  }

  // What stands in it runs: /*!50000 … */
  void open_comment() {
    at_ = std::min(text_.find_first_not_of("!m0123456789", at_ + 2), text_.size());
  }

  void line_comment() {
    const std::size_t next = at_ + 2;
    if (next < text_.size() && !is_space(text_[next])) is_ambiguous_ = true;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }

  void take(std::string_view word) {
    const std::string_view before = std::exchange(previous_, word);
    const bool is_second = words_ == 1;
    ++words_;
    if (shell::is_listed(word, kExecutors)) is_ambiguous_ = true;
    if (word == "use" && words_ == 1) ends_with_line_ = true;
    if (shell::is_listed(word, kOpeners)) words_ = 0;
    if (word == "delete" && words_ == 1) deletes_ = true;
    if (before == "drop" && shell::is_listed(word, kHolders)) drops_ = true;
    // A statement that begins with it, so that a column of that name does not count.
    if (before == "truncate" && (is_second || word == "table")) drops_ = true;
    if (word == "from" && (before == "delete" || deletes_)) {
      if (is_open_) drops_ = true;
      is_open_ = true;
      open_depth_ = depth_;
      deletes_ = false;
    }
    if (word == "where" && is_open_ && depth_ == open_depth_) is_open_ = false;
  }

  void close() {
    if (is_open_ && depth_ <= open_depth_) drops_ = true;
    if (depth_ > 0) --depth_;
  }

  void end_statement() {
    drops_ = drops_ || is_open_;
    words_ = depth_ = 0;
    is_open_ = deletes_ = ends_with_line_ = false;
    previous_ = {};
  }

  std::string_view text_;
  bool reads_all_;
  std::size_t at_ = 0;
  std::size_t words_ = 0;  // of the statement so far
  std::size_t depth_ = 0;  // of parentheses
  std::size_t open_depth_ = 0;
  std::string_view previous_;
  bool is_open_ = false;  // a deletion that has no condition yet
  bool deletes_ = false;  // the statement begins with DELETE
  bool ends_with_line_ = false;
  bool is_ambiguous_ = false;
  bool drops_ = false;
};

bool calls_drop(std::string text) {
  std::erase_if(text, is_space);
  return std::any_of(std::begin(kCalls), std::end(kCalls),
                     [&](std::string_view call) { return text.find(call) != std::string::npos; });
}

}  // namespace

bool query_drops(std::string_view given, bool reads_strings) {
  const std::string text = lowered(given);
  if (text.find("flushall") != std::string::npos || text.find("flushdb") != std::string::npos)
    return true;
  if (calls_drop(text)) return true;
  QueryReader reader(text, reads_strings);
  if (reader.drops()) return true;
  return reader.is_ambiguous() && QueryReader(text, true).drops();
}

bool word_drops(std::string_view word, bool reads_strings) {
  if (!word.starts_with('-')) return query_drops(word, reads_strings);
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    return equals != std::string_view::npos && query_drops(word.substr(equals + 1), reads_strings);
  }
  // -eTEXT, and behind a few letters.
  constexpr std::size_t kMostLetters = 4;
  for (std::size_t i = 2; i < std::min(word.size(), kMostLetters + 2); ++i) {
    if (query_drops(word.substr(i), reads_strings)) return true;
  }
  return false;
}

bool query_opens(std::string_view text) {
  return shell::contains_ignoring_case(text, "attach") ||
         shell::contains_ignoring_case(text, ".open") ||
         shell::contains_ignoring_case(text, ".restore") ||
         shell::contains_ignoring_case(text, ".read");
}

}  // namespace sbx::guard
