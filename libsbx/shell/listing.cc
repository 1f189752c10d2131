// SPDX-License-Identifier: Apache-2.0
// Listing: options as far as they change what is printed; one that is not known leaves the output
// unknown.
#include "shell/listing.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/text.h"
#include "shell/arguments.h"
#include "shell/marks.h"

namespace sbx::shell {
namespace {

using Fields = std::vector<Field>;

std::string within(std::string_view directory, char mark) {
  std::string out(directory);
  if (!out.ends_with('/')) out += '/';
  return out + mark;
}

// Options and operands, mixed as GNU programs allow.
struct Parsed {
  struct Option {
    std::string_view name;
    std::string_view value;
  };
  std::vector<Option> options;
  std::vector<const Field*> operands;

  const Option* find(std::string_view names) const {
    const auto at = std::find_if(options.begin(), options.end(), [&](const Option& option) {
      return is_listed(option.name, names);
    });
    return at == options.end() ? nullptr : &*at;
  }
  bool has_other_than(std::string_view names) const {
    return std::any_of(options.begin(), options.end(),
                       [&](const Option& option) { return !is_listed(option.name, names); });
  }
};

// `with_value`: letters and long names, between spaces, whose value may be the next word.
Parsed parse(const Fields& words, std::size_t first, std::string_view with_value) {
  Parsed out;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    if (text == "--") {
      for (++i; i < words.size(); ++i) out.operands.push_back(&words[i]);
    } else if (text.size() < 2 || text[0] != '-') {
      out.operands.push_back(&words[i]);
    } else if (text[1] == '-') {
      const std::size_t equals = text.find('=');
      Parsed::Option option{text.substr(2, equals == text.npos ? equals : equals - 2), {}};
      if (equals != text.npos) {
        option.value = text.substr(equals + 1);
      } else if (is_listed(option.name, with_value) && i + 1 < words.size()) {
        option.value = words[++i].text;
      }
      out.options.push_back(option);
    } else {
      for (std::size_t at = 1; at < text.size(); ++at) {
        Parsed::Option option{text.substr(at, 1), {}};
        const bool takes = is_listed(option.name, with_value);
        if (takes && at + 1 < text.size()) {
          option.value = text.substr(at + 1);
        } else if (takes && i + 1 < words.size()) {
          option.value = words[++i].text;
        }
        out.options.push_back(option);
        if (takes) break;
      }
    }
  }
  return out;
}

// Whether a regular expression leaves something out.
bool picks(std::string_view expression) {
  return expression.find_first_not_of("^$.*+?[]()|\\{}, ") != std::string_view::npos;
}

// Whatever there is → some of it.
std::string picked(std::string_view list) {
  std::string out(list);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == kStar || c == kDeep; }, kPicked);
  return out;
}

bool is_list(const std::optional<std::string>& input) {
  return input && has_mark(*input) && is_bounded(*input);
}

// The files in or below each of the operands; nullopt: one is not known.
Listing below(const std::vector<const Field*>& starts, std::size_t first, char mark) {
  if (first >= starts.size()) return std::string{mark, '\n'};
  std::string out;
  for (std::size_t i = first; i < starts.size(); ++i) {
    const std::string start = made_of(*starts[i]);
    if (start.empty() || !is_bounded(start)) return std::nullopt;
    out += within(start, mark) + '\n';
  }
  return out;
}

}  // namespace

std::vector<std::string> find_starts(const std::vector<Field>& words, std::size_t& at) {
  std::vector<std::string> starts;
  for (; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (text == "-H" || text == "-L" || text == "-P") continue;
    if (text.starts_with('-') || text == "(" || text == "!") break;
    starts.push_back(made_of(words[at]));
  }
  return starts;
}

std::string given_by_find(const Fields& words) {
  std::size_t at = 1;
  std::vector<std::string> starts = find_starts(words, at);
  bool is_named = false;
  for (; at + 1 < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (text == "-files0-from") return {kHole};
    if (text.starts_with("-exec") || text.starts_with("-ok")) break;
    const bool is_positive = words[at - 1].text != "!" && words[at - 1].text != "-not";
    if (is_listed(text, "-name -iname -path"))
      is_named = is_named || (is_positive && words[at + 1].text != "*");
  }
  if (starts.empty()) starts.emplace_back(".");
  std::vector<std::string> items;
  for (const std::string& start : starts) {
    if (start.empty() || !is_bounded(start)) return {kHole};
    items.push_back(within(start, is_named ? kChoice : kDeep));
  }
  return join_values(items);
}

std::string given_by_fd(const Fields& words) {
  const Parsed parsed = parse(words, 1,
                              "e extension d max-depth min-depth exact-depth t type E exclude S "
                              "size c color j threads o owner changed-within changed-before "
                              "max-results");
  static constexpr std::string_view kPlain =
      "e extension d max-depth min-depth exact-depth t type E exclude S size c color j threads H "
      "hidden I no-ignore u unrestricted s case-sensitive i ignore-case F fixed-strings L follow "
      "one-file-system changed-within changed-before max-results 1 prune g glob";
  if (parsed.has_other_than(kPlain)) return {kHole};
  const auto& operands = parsed.operands;
  const bool is_picked =
      (!operands.empty() && operands[0]->is_known() && picks(operands[0]->text)) ||
      parsed.find("e extension") != nullptr;
  const char mark = is_picked ? kChoice : kDeep;
  if (operands.size() < 2) return {mark};
  std::vector<std::string> items;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const std::string start = made_of(*operands[i]);
    if (start.empty() || !is_bounded(start)) return {kHole};
    items.push_back(within(start, mark));
  }
  return join_values(items);
}

Listing listed_by_grep(const Fields& words, const std::optional<std::string>& input) {
  const auto program = program_name(words[0]);
  const bool is_rg = program && *program == "rg";
  const Parsed parsed = parse(words, 1,
                              "e regexp A B C m max-count after-context before-context context "
                              "include exclude exclude-dir g glob t type T type-not d f file");
  static constexpr std::string_view kPlain =
      "e regexp E extended-regexp F fixed-strings G basic-regexp P perl-regexp i ignore-case v "
      "invert-match w word-regexp x line-regexp s no-messages a text l files-with-matches r R "
      "recursive h no-filename m max-count include exclude exclude-dir I line-buffered S "
      "smart-case g glob t type T type-not hidden no-ignore U";
  if (parsed.has_other_than(kPlain)) return std::nullopt;
  const auto& operands = parsed.operands;
  const auto* given = parsed.find("e regexp");
  if (given == nullptr && operands.empty()) return std::nullopt;
  const std::string_view expression = given != nullptr ? given->value : operands[0]->text;
  const std::size_t first = given != nullptr ? 0 : 1;
  // "-v" leaves all but some, so that nothing is picked.
  const bool is_picked = picks(expression) && parsed.find("v invert-match") == nullptr;
  if (parsed.find("l files-with-matches") == nullptr) {
    if (is_rg || parsed.find("r R recursive") != nullptr || operands.size() > first ||
        !is_list(input)) {
      return std::nullopt;
    }
    return is_picked ? picked(*input) : *input;
  }
  if (is_rg || parsed.find("r R recursive") != nullptr) {
    return below(operands, first, is_picked ? kPicked : kDeep);
  }
  std::string out;
  for (std::size_t i = first; i < operands.size(); ++i) {
    const std::string name = made_of(*operands[i]);
    if (name.empty() || !is_bounded(name)) return std::nullopt;
    out += (is_picked ? picked(name) : name) + '\n';
  }
  return out.empty() ? std::nullopt : Listing(out);
}

Listing cut_by_count(const Fields& words, const std::optional<std::string>& input) {
  const Parsed parsed = parse(words, 1, "n lines");
  if (!is_list(input) || !parsed.operands.empty()) return std::nullopt;
  const auto* count = parsed.find("n lines");
  for (const auto& option : parsed.options) {
    const bool is_count = option.name.size() == 1 && is_digit(option.name[0]);
    if (!is_count && &option != count && !is_listed(option.name, "q v quiet silent z"))
      return std::nullopt;
  }
  // All of them, but for none or one.
  if (count != nullptr && is_listed(count->value, "+0 +1 -0 -1")) return input;
  return picked(*input);
}

Listing listed_by_git(const Fields& words, std::size_t first) {
  const Parsed parsed = parse(words, first, "x exclude X exclude-from exclude-per-directory");
  if (parsed.has_other_than("c cached o others m modified d deleted i ignored x exclude X "
                            "exclude-from exclude-per-directory exclude-standard u unmerged")) {
    return std::string{kStar, '\n'};
  }
  std::string out;
  for (const Field* word : parsed.operands) {
    const std::string_view text = word->text;
    if (has_mark(text) || text.empty() || text[0] == ':' || text[0] == '/' || word->has_tilde)
      return std::nullopt;
    const auto parts = split(text, '/');
    if (std::find(parts.begin(), parts.end(), "..") != parts.end()) return std::nullopt;
    const std::string_view sure = text.substr(0, text.find_first_of("*?[\\"));
    const std::size_t slash = sure.rfind('/');
    const bool is_picked = text.find_first_not_of("*?[]./") != std::string_view::npos;
    out += slash == std::string_view::npos ? "" : std::string(sure.substr(0, slash + 1));
    out += is_picked ? kPicked : kStar;
    out += '\n';
  }
  return out.empty() ? std::string{kStar, '\n'} : out;
}

}  // namespace sbx::shell
