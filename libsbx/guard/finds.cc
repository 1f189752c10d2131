// SPDX-License-Identifier: Apache-2.0
// find's starts and tests, and the words that stand for what it finds.
#include "guard/finds.h"

#include <algorithm>

#include "shell/arguments.h"

namespace sbx::guard {
namespace {

// Whether a pattern of find picks something out.
bool picks(std::string_view test, std::string_view pattern) {
  const std::string_view nothing = test == "-path" || test == "-wholename" ? "*?[]!^./" : "*?[]";
  return pattern.find_first_not_of(nothing) != std::string_view::npos;
}

// find's expression from `at` on: what stands in parentheses holds where each side of its -o does.
class FindReader {
 public:
  FindReader(const shell::Command& find, FindStart& out) : words_(find.words), out_(out) {}

  void read(std::size_t at) {
    for (; at < words_.size(); ++at) {
      const std::string& text = words_[at].text;
      const bool is_not = negates_;
      negates_ = false;
      if (text == "!" || text == "-not") {
        negates_ = !is_not;
      } else if (text == "(") {
        groups_.push_back({false, true, is_not});
      } else if (text == ")") {
        if (groups_.size() > 1) close();
      } else if (text == "-o" || text == "-or" || text == ",") {
        groups_.back().is_each_named = groups_.back().is_each_named && groups_.back().is_named;
        groups_.back().is_named = false;
      } else if (text.starts_with("-exec") || text.starts_with("-ok")) {
        while (at + 1 < words_.size() && words_[at].text != ";" &&
               (words_[at].text != "+" || words_[at - 1].text != "{}")) {
          ++at;
        }
      } else if (text == "-delete") {
        const bool is_named = std::any_of(groups_.begin(), groups_.end(),
                                          [](const Group& group) { return group.is_named; });
        if (out_.removal == nullptr || !is_named) out_.is_removal_named = is_named;
        out_.removal = &words_[at];
      } else {
        test(at, is_not);
      }
    }
  }

 private:
  struct Group {
    bool is_named = false;      // on this side of -o
    bool is_each_named = true;  // on the sides before
    bool is_negated = false;
  };

  void close() {
    const Group group = groups_.back();
    groups_.pop_back();
    if (group.is_named && group.is_each_named && !group.is_negated) groups_.back().is_named = true;
  }

  void test(std::size_t& at, bool is_not) {
    const std::string& text = words_[at].text;
    if (shell::is_listed(text, "-name -iname -path -ipath -wholename -lname -regex -iregex")) {
      if (++at >= words_.size()) return;
      if (is_not || !words_[at].known || !picks(text, words_[at].text)) return;
      out_.has_filter = true;
      if (shell::is_listed(text, "-name -iname -path -wholename")) groups_.back().is_named = true;
    } else if (shell::is_listed(
                   text, "-mtime -mmin -newer -size -user -perm -atime -ctime -amin -cmin")) {
      if (!is_not) out_.has_filter = true;
      ++at;
    } else if (text == "-empty") {
      if (!is_not) out_.has_filter = true;
    } else if (text == "-files0-from") {
      out_.is_elsewhere = true;
      ++at;
    } else if (shell::is_listed(
                   text,
                   "-type -xtype -maxdepth -mindepth -group -gid -uid -inum -links -samefile "
                   "-fstype -used -printf -fprint -fprintf -fprint0 -fls -context -anewer "
                   "-cnewer -newermt -regextype")) {
      ++at;
    }
  }

  const std::vector<shell::Word>& words_;
  FindStart& out_;
  std::vector<Group> groups_ = {{}};
  bool negates_ = false;
};

bool is_run_by_find(const shell::Command& command) {
  return std::any_of(command.via.begin(), command.via.end(),
                     [](const std::string& name) { return name.starts_with("find"); });
}

// Among the words that find or xargs was given for it, the word's own has the place. The words of a
// text within another all have its span.
bool is_placeholder_within(const Case& c, const shell::Word& word) {
  constexpr std::size_t kMostBefore = 64;
  constexpr std::size_t kMostWords = 1024;
  if (word.known) return false;
  const std::vector<shell::Word>& words = c.command.words;
  const auto& commands = c.reading.commands;
  const auto place_of = [&](auto is_it) {
    return static_cast<std::size_t>(std::find_if(words.begin(), words.end(), is_it) -
                                    words.begin());
  };
  std::size_t at = place_of([&](const shell::Word& other) { return &other == &word; });
  if (at == words.size()) {  // a copy
    at = place_of([&](const shell::Word& other) {
      return !other.known && other.text == word.text && other.shape == word.shape;
    });
  }
  if (at == words.size()) return false;
  auto self = static_cast<std::size_t>(&c.command - commands.data());
  for (std::size_t i = 0; self > 0 && i < kMostBefore; ++i) {
    const shell::Command& giver = commands[--self];
    if (giver.via.size() + 1 != c.command.via.size()) continue;
    if (giver.words.size() > kMostWords) return false;
    bool has_place = false;
    for (std::size_t begin = 1; begin + words.size() <= giver.words.size(); ++begin) {
      const std::size_t end = begin + words.size();
      const bool ends = end == giver.words.size() || shell::is_listed(giver.words[end].text, "; +");
      if (!ends || giver.words[begin].text != words.front().text) continue;
      has_place = giver.words[begin + at].known && giver.words[begin + at].text == "{}";
      if (!has_place) break;
    }
    return has_place;
  }
  return false;
}

}  // namespace

FindStart read_find(const shell::Command& find) {
  FindStart out;
  std::size_t at = 1;
  for (; at < find.words.size(); ++at) {
    const std::string& text = find.words[at].text;
    const bool is_option = text == "-H" || text == "-L" || text == "-P" || text.starts_with("-O");
    out.follows = out.follows || text == "-H" || text == "-L";
    if (is_option) continue;
    if (text.starts_with('-') || text == "(" || text == "!") break;
    out.starts.push_back(&find.words[at]);
  }
  FindReader(find, out).read(at);
  return out;
}

const shell::Command* feeding_find(const Case& c) {
  const auto& via = c.command.via;
  if (is_run_by_find(c.command)) {
    // What find runs follows it; the nearest that holds it.
    const auto finds = c.index.finds();
    const auto self = static_cast<std::uint32_t>(&c.command - c.reading.commands.data());
    for (auto at = std::lower_bound(finds.begin(), finds.end(), self); at != finds.begin();) {
      const shell::Command& other = c.reading.commands[*--at];
      if (other.span.begin <= c.command.span.begin && c.command.span.end <= other.span.end)
        return &other;
    }
    return nullptr;
  }
  // What prints more than its files has given xargs words that nobody knows.
  if (c.command.has_more_words || std::find(via.begin(), via.end(), "xargs") == via.end())
    return nullptr;
  for (const std::uint32_t at : c.index.before(c.reading, c.command)) {
    const shell::Command& other = c.reading.commands[at];
    const bool is_find =
        !other.words.empty() && shell::base_name(other.words.front().text) == "find";
    if (is_find && other.stage + 1 == c.command.stage && other.stages > 1) return &other;
  }
  return nullptr;
}

std::optional<Hit> outside_find(const Case& c, const shell::Command& find, const FindStart& read,
                                Taking taking) {
  if (read.is_elsewhere) return Hit{find.span, ""};
  const auto is_fine = [&](const std::string& path) {
    return c.places.is_own(path) &&
           (taking != Taking::kPicked || !c.places.is_above_workspace(path)) &&
           (taking != Taking::kAll || c.places.is_known_removal(path, true));
  };
  if (read.starts.empty()) {
    for (const std::string& directory : c.directories) {
      if (directory.empty() || !is_fine(directory)) return Hit{find.span, directory};
    }
  }
  for (const shell::Word* word : read.starts) {
    const auto paths = c.places.resolve(*word, c.directories, read.follows);
    if (!paths) return Hit{word->span, word->text};
    for (const std::string& path : *paths) {
      if (!is_fine(path)) return Hit{word->span, Places::shown(path)};
    }
  }
  return std::nullopt;
}

std::vector<std::string> find_places(const Case& c, const FindStart& read) {
  std::vector<std::string> out;
  if (read.starts.empty()) out = c.directories;
  for (const shell::Word* word : read.starts) {
    if (auto paths = c.places.resolve(*word, c.directories, read.follows))
      out.insert(out.end(), paths->begin(), paths->end());
  }
  std::erase(out, "");
  return out;
}

bool is_placeholder(const Case& c, const shell::Word& word) {
  const bool is_within_find = !word.shape.empty() || is_run_by_find(c.command);
  // A redirection may stand behind what has no words: `{ …; } > $f`.
  if (word.known || !is_within_find || c.command.words.empty()) return false;
  if (word.span == c.command.words.front().span) return is_placeholder_within(c, word);
  if (word.span.end > c.text.size() || word.span.begin > word.span.end) return false;
  return shell::is_listed(c.text.substr(word.span.begin, word.span.end - word.span.begin),
                          R"({} '{}' "{}" \{\})");
}

}  // namespace sbx::guard
