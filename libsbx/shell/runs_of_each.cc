// SPDX-License-Identifier: Apache-2.0
#include "shell/runs_of_each.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shell/arguments.h"
#include "shell/listing.h"
#include "shell/marks.h"
#include "shell/options.h"
#include "shell/run_parts.h"

namespace sbx::shell {
namespace {

// Takes `placeholder` out of the words: only the run knows what stands there.
void take_out(Fields& words, const std::string& placeholder) {
  put_in(words, placeholder, std::string_view(&kHole, 1));
}

void add_xargs(const Fields& words, Runs& runs) {
  Options options(words, "adEILnPsR",
                  " arg-file delimiter max-args max-procs max-chars process-slot-var max-lines ");
  std::string placeholder;
  bool takes_input = true;
  bool splits_lines = false;
  while (const auto option = options.next()) {
    if (option->name == "a" || option->name == "arg-file" || option->name == "E") {
      takes_input = false;
    }
    if (option->name == "0" || option->name == "null") splits_lines = true;
    if (option->name == "d" || option->name == "delimiter") {
      splits_lines = true;
      takes_input = takes_input && is_listed(option->value.value_or(""), "\\n \\0");
    }
    if (option->name == "I" && option->value) placeholder = *option->value;
    if (option->name == "replace") placeholder = option->value.value_or("{}");
    if (option->name == "i") {  // -i[text]: what follows is no options
      const std::size_t letter = option->word->text.find('i');
      placeholder = option->word->text.substr(letter + 1);
      if (placeholder.empty()) placeholder = "{}";
    }
  }
  runs.unknown = options.unknown();
  if (options.at() >= words.size()) return;
  add_words(runs, "xargs", tail(words, options.at()), placeholder.empty());
  Run& run = runs.runs.back();
  run.takes_input = takes_input;
  run.splits_lines = splits_lines || !placeholder.empty();
  run.placeholder = placeholder;
}

void add_find(const Fields& words, Runs& runs) {
  std::string given;  // the same for each
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& action = words[i].text;
    if (action != "-exec" && action != "-execdir" && action != "-ok" && action != "-okdir")
      continue;
    std::size_t end = i + 1;
    bool is_many = false;
    for (; end < words.size() && words[end].text != ";"; ++end) {
      is_many = words[end].text == "+" && words[end - 1].text == "{}";
      if (is_many) break;
    }
    Fields inner(words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                 words.begin() + static_cast<std::ptrdiff_t>(end));
    const bool has_place =
        is_many || std::any_of(inner.begin(), inner.end(), [](const Field& word) {
          return word.text.find("{}") != std::string::npos;
        });
    Fields bounded = inner;
    if (has_place && given.empty()) given = fitting(words, given_by_find(words));
    // "{}" alone is known by where find starts; what is longer is a path of its own.
    for (Field& word : inner) {
      if (word.text == "{}") word.text = kHole;
    }
    static constexpr char kHere[] = {'.', '/', kChoice};
    const bool is_here = action.ends_with("dir");
    put_in(inner, "{}", is_here ? std::string_view(kHere, sizeof kHere) : given);
    add_words(runs, "find " + action, std::move(inner), has_place);
    if (has_place && !has_hole(given)) {
      put_in(bounded, "{}", given);
      if (is_many) {  // several
        Field word = words[end - 1];
        word.text = given;
        bounded.push_back(std::move(word));
      }
      runs.runs.back().bounded = std::move(bounded);
    }
    i = end;
  }
}

// parallel's {} {.} {/} {//} {/.} {#} {1} {1.} …: whether there was one.
bool fill_places(Field& word, const std::string& value) {
  bool found = false;
  std::string made;
  for (std::size_t at = 0; at < word.text.size();) {
    const std::size_t end = word.text[at] == '{'
                                ? word.text.find_first_not_of("0123456789./#%+!", at + 1)
                                : std::string::npos;
    if (end == std::string::npos || word.text[end] != '}') {
      made += word.text[at++];
      continue;
    }
    const std::string_view inner = std::string_view(word.text).substr(at + 1, end - at - 1);
    if (inner.empty() || inner == "1") {
      made += value;
    } else {
      made += inner == "#" || inner == "%" ? kName : kHole;
    }
    found = true;
    at = end + 1;
  }
  word.text = std::move(made);
  return found;
}

// parallel, and sem, which reads no arguments from its input.
void add_parallel(const Fields& words, const std::optional<std::string>& input, Runs& runs,
                  bool reads_input) {
  Options options(words, "aCdEIjJLMNnPrsSUW",
                  " arg-file colsep delimiter jobs max-procs max-args max-replace-args max-lines "
                  "max-chars joblog results tmpdir timeout delay retries sshlogin sshloginfile "
                  "basefile return workdir tagstring tag-string env nice load memfree halt "
                  "halt-on-error block recstart recend profile arg-sep arg-file-sep replace "
                  "compress-program shebang-wrap tempdir ");
  bool quotes = false;
  bool takes_lines = reads_input;
  while (const auto option = options.next()) {
    if (option->name == "dry-run" || option->name == "dryrun") return;
    quotes = quotes || option->name == "q" || option->name == "quote";
    // These leave each line an argument.
    takes_lines = takes_lines &&
                  is_listed(option->name,
                            "q quote j jobs max-procs P k keep-order u ungroup group will-cite "
                            "bar progress eta halt v t verbose r no-run-if-empty timeout delay");
  }
  runs.unknown = options.unknown();
  const auto is_separator = [](const Field& word) { return word.text.starts_with(":::"); };
  const std::size_t first = options.at();
  std::size_t end = first;
  while (end < words.size() && !is_separator(words[end])) ++end;
  if (end == first) {  // without a command, each argument is one
    for (std::size_t i = end + 1; i < words.size(); ++i) {
      if (!is_separator(words[i])) add_text(runs, RunKind::kText, "parallel", words[i]);
    }
    return;
  }
  // Literal arguments of one source stand where {} does, or at the end.
  std::string value(1, kHole);
  const bool is_listed_there =
      end + 1 < words.size() && words[end].text == ":::" &&
      std::none_of(words.begin() + static_cast<std::ptrdiff_t>(end) + 1, words.end(), is_separator);
  const bool is_read = end == words.size() && takes_lines && input && is_bounded(*input) &&
                       input->find_first_of("'\"\\") == std::string::npos;
  const bool is_literal = is_listed_there || is_read;
  if (is_read) {
    std::vector<std::string> items;
    for (const std::string_view line : split(*input, '\n')) {
      if (!line.empty()) items.emplace_back(line);
    }
    value = join_values(items);
  } else if (is_literal) {
    std::vector<std::string> items;
    for (const Field& word : tail(words, end + 1)) items.push_back(made_of(word));
    value = join_values(items);
  }
  Fields command(words.begin() + static_cast<std::ptrdiff_t>(first),
                 words.begin() + static_cast<std::ptrdiff_t>(end));
  value = fitting(command, std::move(value));
  bool has_place = false;
  for (Field& word : command) has_place = fill_places(word, value) || has_place;
  const bool has_more = !is_literal && reads_input;
  if (!has_place && is_literal) {
    Field word;
    word.span = words[std::min(end, words.size() - 1)].span;
    word.text = value;
    command.push_back(std::move(word));
  }
  if (quotes) return add_words(runs, "parallel", std::move(command), has_more);
  add_text(runs, RunKind::kText, "parallel", joined(command, 0, command.size()));
  runs.runs.back().has_more_words = has_more;
}

// fd -x PROGRAM …: on each file that it finds.
void add_fd(const Fields& words, Runs& runs) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text != "-x" && text != "-X" && text != "--exec" && text != "--exec-batch") continue;
    const std::string value = fitting(
        words, given_by_fd({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i)}));
    const Span span = words[i].span;
    Fields inner;
    for (++i; i < words.size() && words[i].text != ";"; ++i) inner.push_back(words[i]);
    bool has_place = false;
    for (Field& word : inner) has_place = fill_places(word, value) || has_place;
    const bool is_known = !has_hole(value);
    if (is_known && !has_place) {
      Field word;
      word.span = span;
      word.text = value;
      inner.push_back(std::move(word));
    }
    return add_words(runs, "fd " + text, std::move(inner), !is_known);
  }
}

// entr: /_ is the file that changed.
void add_entr(const Fields& words, Runs& runs) {
  Options options(words, "", "");
  bool is_text = false;
  while (const auto option = options.next()) is_text = is_text || option->name == "s";
  runs.unknown = options.unknown();
  if (options.at() >= words.size()) return;
  if (is_text) return add_text(runs, RunKind::kText, "entr -s", words[options.at()]);
  Fields command = tail(words, options.at());
  take_out(command, "/_");
  add_words(runs, "entr", std::move(command));
}

}  // namespace

bool add_runs_of_each(const std::string& name, const std::vector<Field>& words,
                      const std::optional<std::string>& input, Runs& runs) {
  if (name == "xargs" || name == "gxargs") {
    add_xargs(words, runs);
  } else if (name == "find" || name == "gfind") {
    add_find(words, runs);
  } else if (name == "parallel" || name == "env_parallel" || name == "sem") {
    add_parallel(words, input, runs, name != "sem");
  } else if (name == "fd" || name == "fdfind") {
    add_fd(words, runs);
  } else if (name == "entr") {
    add_entr(words, runs);
  } else {
    return false;
  }
  return true;
}

}  // namespace sbx::shell
