// SPDX-License-Identifier: Apache-2.0
// Walker: what the shell takes for a number or for a name, and so expands once more: $((x)) with
// x='a[$(id)]' runs id. Nothing here goes by the order of the text, which loops and functions
// change: a name counts as evaluated with all that it is given anywhere.
#include <fnmatch.h>

#include <algorithm>
#include <span>
#include <utility>

#include "shell/arguments.h"
#include "shell/parser.h"
#include "shell/parser_impl.h"
#include "shell/unshown.h"
#include "shell/walker.h"

namespace sbx::shell {
namespace {

// The shell gives these what only the run tells.
constexpr std::string_view kOfTheRun =
    "_ REPLY OPTARG BASH_REMATCH BASH_COMMAND BASH_SOURCE BASH_ARGV BASH_ARGV0 FUNCNAME DIRSTACK "
    "BASH_EXECUTION_STRING MAPFILE PWD OLDPWD";
constexpr std::size_t kLongestNumber = 256;

}  // namespace

void add_names(std::string_view text, Names& names) {
  bool is_plain = text.size() <= kLongestNumber;
  is_plain = is_plain && !may_be_text(text) && text.find_first_of("$`") == text.npos;
  if (!is_plain) names.insert(kAnything);
  for (std::size_t at = 0; is_plain && at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_name_char(text[at])) ++at;
    const std::string_view name = text.substr(begin, at - begin);
    if (is_name(name)) names.insert(std::string(name));
  }
}

void add_names(const Field& field, Names& names) {
  if (field.gives_file_names()) names.insert(kAnything);
  add_names(field.text, names);
}

Names& Walker::evaluated(Span span) {
  Names& names = given_[kEvaluated];
  if (!std::exchange(is_evaluating_, true)) evaluated_at_ = whole_.value_or(span);
  return names;
}

void Walker::note_given(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, std::min(text.find_first_of("[+"), equals));
  if (may_be_text(name)) given_[kEveryName];
  if (equals != text.npos) add_names(text.substr(equals), given_[std::string(name)]);
}

std::string Walker::evaluate(const std::vector<Part>& parts, Span span) {
  Names* outer = std::exchange(names_, parts.empty() ? nullptr : &evaluated(span));
  std::string text = expand_quoted(parts);
  names_ = outer;
  return text;
}

bool Walker::is_map(const std::string& array) const {
  return scope_.is_set(array + kMapMark) && !scope_.is_unset(array);
}

// The subscript of what is not known for a map, whose keys are no numbers.
void Walker::expand_index(const std::string& array, const std::vector<Part>& index, Span span) {
  Names* outer = std::exchange(names_, is_map(array) ? nullptr : &evaluated(span));
  expand_quoted(index);
  names_ = outer;
}

// What a parameter brings into a text that is evaluated, or given to a name that may be.
void Walker::note_parameter(const Parameter& parameter, const Value& value, bool is_known) {
  const std::string& name = parameter.name;
  if (parameter.is_length || is_listed(name, "# ? $ !")) return;
  if (parameter.is_indirect && parameter.has_subscript) {  // keys: numbers, but a map's
    if (is_map(name)) names_->insert(kAnything);
    return;
  }
  // ${x@E} makes other letters of it.
  if ((parameter.is_indirect && !is_known) || parameter.operation == "@") names_->insert(kAnything);
  if (is_name(name)) {
    names_->insert(name);
  } else if (!is_known) {
    names_->insert(kPositional);
  } else {
    for (const std::string& item : value.items) add_names(item, *names_);
  }
}

// Where one compares numbers, all of its words may be numbers.
void Walker::note_test(const std::vector<WordNode>& words) {
  bool counts = false;
  for (const WordNode& word : words) {
    counts = counts ||
             (word.parts.size() == 1 && is_listed(word.parts[0].text, "-eq -ne -lt -le -gt -ge"));
  }
  bool is_name = false;
  for (const WordNode& word : words) {
    if (counts) names_ = &evaluated(word.span);
    const std::string text = expand_single(word).text;
    names_ = nullptr;
    if (holds_subscript(text) || (is_name && (may_be_text(text) || is_element(text))))
      reading_.unshown.push_back(whole_.value_or(word.span));
    is_name = text == "-v";
  }
}

// What may be an option that takes a name: for test any word that is not quoted, which may give
// "-v" and a subscript; for wait and the format of printf one that begins with it.
void Walker::note_argument(std::string_view program, const WordNode& word, bool is_first,
                           std::span<const Field> fields) {
  const bool is_test = program == "test" || program == "[";
  if (!is_test && program != "wait" && (program != "printf" || !is_first)) return;
  std::span<const Part> parts = word.parts;
  if (!is_test) {
    while (!parts.empty() && parts[0].kind == PartKind::kDouble) parts = parts[0].parts;
    parts = parts.first(std::min<std::size_t>(1, parts.size()));
  }
  const Span span = whole_.value_or(word.span);
  bool is_made = false;
  for (const Part& part : parts) {
    is_made = is_made || part.kind == PartKind::kCommand;
    if (part.kind != PartKind::kParameter) continue;
    names_ = &evaluated(span);
    bool is_known = false;
    const Value value = base_value(*part.parameter, is_known);
    note_parameter(*part.parameter, value, is_known);
    names_ = nullptr;
  }
  const bool may_be_option = std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    return (is_made && may_be_text(field.text)) ||
           (field.has_glob && fnmatch(field.text.c_str(), "-v", 0) == 0);
  });
  if (may_be_option) reading_.unshown.push_back(span);
}

void Walker::end_evaluated() {
  const auto found = given_.find(kEvaluated);
  if (found == given_.end()) return;
  // And what those are given.
  Names& all = found->second;
  constexpr int kMostTurns = 16;
  std::size_t before = 0;
  for (int turn = 0; before != all.size() && turn < kMostTurns; ++turn) {
    before = all.size();
    for (const std::string& name : all) {
      const auto given = given_.find(name);
      if (given == given_.end() || given == found) continue;
      for (const std::string& each : given->second) all.insert(each);
    }
  }
  bool is_unknown = before != all.size() || all.contains(kAnything) || given_.contains(kEveryName);
  for (const std::string& name : all) is_unknown = is_unknown || is_listed(name, kOfTheRun);
  if (is_unknown) reading_.unshown.push_back(evaluated_at_);
}

}  // namespace sbx::shell
