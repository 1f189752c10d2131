// SPDX-License-Identifier: Apache-2.0
// Walker: simple commands: words, assignments, redirections, and builtins that change variables.
#include <algorithm>
#include <cctype>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "shell/arguments.h"
#include "shell/options.h"
#include "shell/parser.h"
#include "shell/unshown.h"
#include "shell/walker.h"

namespace sbx::shell {
namespace {

template <std::size_t kSize>
bool is_one_of(std::string_view word, const std::string_view (&words)[kSize]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr std::string_view kDeclarations[] = {"declare", "typeset", "local", "export", "readonly"};
// A POSIX shell keeps the assignments in front of these.
constexpr std::string_view kSpecial[] = {
    ":",     ".",    "eval",  "exec",  "export", "readonly", "return",   "set",
    "shift", "trap", "unset", "times", "source", "break",    "continue", "exit"};
constexpr std::string_view kReaders[] = {"read", "mapfile", "readarray", "getopts", "wait"};

}  // namespace

void Walker::emit(const Frame& frame, Span span, const std::vector<Field>& words) {
  Command command;
  command.span = whole_.value_or(span);
  command.is_supposed = supposed_ > 0;
  command.is_doubted = is_doubted_;
  command.via = frame.via;
  command.has_more_words = frame.has_more_words;
  command.pipeline = frame.pipeline;
  command.stage = frame.stage;
  command.stages = frame.stages;
  command.function = frame.function;
  command.in_background = frame.in_background;
  for (const Field& field : words) command.words.push_back(to_word(field));
  reading_.commands.push_back(std::move(command));
}

void Walker::note_gap(const SyntaxNode& node, Command& command) {
  const std::size_t end = std::exchange(script_end_, node.inside.end);
  const std::size_t begin = std::min<std::size_t>(node.inside.begin, script_.size());
  if (end > 0 && begin > end) command.gap = script_.substr(end, begin - end);
}

std::vector<Field> Walker::expand_operands(const SyntaxNode& node) {
  std::vector<Field> fields;
  bool declares = false;
  std::string program;
  are_given_ = false;
  for (const WordNode& word : node.words) {
    const bool assigns =
        declares && !word.parts.empty() && word.parts[0].kind == PartKind::kLiteral &&
        is_name(word.parts[0].text.substr(0, word.parts[0].text.find_first_of("+="))) &&
        word.parts[0].text.find('=') != std::string::npos;
    if (assigns) {
      const std::string& name = word.parts[0].text;
      names_ = &given_[name.substr(0, name.find_first_of("+="))];
      fields.push_back(expand_single(word));
      names_ = nullptr;
    } else {
      const std::size_t before = fields.size();
      expand_word(word, fields);
      for (std::size_t i = before; declares && i < fields.size(); ++i) note_given(fields[i].text);
      note_argument(program, word, before == 1, std::span(fields).subspan(before));
    }
    if (&word == &node.words[0] && plain_text(word, program)) {
      declares = is_one_of(program, kDeclarations);
    }
    if (stopped_) break;
  }
  are_given_ = declares;
  return fields;
}

std::vector<Redirection> Walker::expand_redirections(const std::vector<RedirectionNode>& nodes,
                                                     Text& input, bool& prints) {
  std::vector<Redirection> redirections;
  for (const RedirectionNode& node : nodes) {
    Redirection redirection;
    redirection.span = whole_.value_or(node.span);
    redirection.kind = node.kind;
    redirection.fd = node.fd;
    if (is_element(node.variable)) {
      add_names(node.variable, evaluated(redirection.span));
    }
    const Field target = expand_single(node.target);
    redirection.target = to_word(target);
    if (node.fd == 0) {
      input.reset();
      if (node.is_string && !target.is_process) input = target.text + '\n';
      if (node.kind == RedirectionKind::kRead && target.is_process) input = target.process_output;
    }
    if (node.is_document) {
      std::string body = expand_quoted(tree_->documents[node.document]);
      if (node.fd == 0) input = std::move(body);
    }
    if (node.fd == 1 || node.fd == -1) prints = false;
    redirections.push_back(std::move(redirection));
  }
  return redirections;
}

void Walker::expand_assignments(const SyntaxNode& node, std::vector<Assignment>& assignments,
                                std::vector<std::pair<std::string, Value>>& values) {
  for (const AssignmentNode& assignment : node.assignments) {
    Field field;
    Value value;
    const Span span = whole_.value_or(assignment.span);
    names_ = &given_[assignment.name];
    if (assignment.is_array) {
      std::vector<Field> elements;
      for (const WordNode& element : assignment.elements) expand_word(element, elements);
      value.is_array = true;
      field.span = span;
      bool is_beyond = false;  // [index]=value, and what may be several
      for (const Field& element : elements) {
        is_beyond = is_beyond || element.text.starts_with('[') || element.splits;
        if (!field.text.empty()) field.text += ' ';
        field.text += element.text;
        value.items.push_back(made_of(element));
      }
      if (is_beyond) value.items.assign(1, std::string(1, kHole));
      if (is_beyond && field.text.find("]=") != std::string::npos)
        evaluated(span).insert(assignment.name);
    } else {
      field = expand_single(assignment.value);
      value.items.push_back(field.has_tilde ? made_of(field) : field.text);
    }
    names_ = nullptr;
    if (assignment.has_index) expand_index(assignment.name, assignment.index, span);
    const Value* before = assignment.appends ? scope_.find(assignment.name) : nullptr;
    if (assignment.has_index || (assignment.appends && before == nullptr) ||
        (before != nullptr && before->is_array != value.is_array)) {
      value = {{std::string(1, kHole)}, true};
    } else if (before != nullptr && value.is_array) {
      value.items.insert(value.items.begin(), before->items.begin(), before->items.end());
    } else if (before != nullptr) {
      value.items[0].insert(0, before->items[0]);
    }
    if (!spend(field.text.size() + assignment.name.size() + 16)) return;
    // The values go one by one: X=a Y=$X.
    values.emplace_back(assignment.name, std::move(value));
    if (node.words.empty()) scope_.set(values.back().first, values.back().second);
    if (assigns_unshown(assignment.name, field.text)) reading_.unshown.push_back(span);
    assignments.push_back({span, assignment.name, to_word(field)});
  }
}

Text Walker::walk_simple(const SyntaxNode& node, const Frame& frame, const Text& outer_input) {
  const std::size_t slot = reading_.commands.size();
  emit(frame, node.span, {});  // its place in the order of the text
  note_gap(node, reading_.commands.back());
  const std::vector<Field> words = expand_operands(node);
  const bool are_given = are_given_;
  Text input = outer_input;
  bool prints = true;
  std::vector<Redirection> redirections = expand_redirections(node.redirections, input, prints);
  std::vector<Assignment> assignments;
  std::vector<std::pair<std::string, Value>> values;
  expand_assignments(node, assignments, values);

  std::size_t bytes = 0;
  for (const Field& word : words) bytes += word.text.size() + sizeof(Word);
  if (!spend(bytes)) return std::nullopt;
  Command& command = reading_.commands[slot];
  for (const Field& word : words) command.words.push_back(to_word(word));
  command.redirections = std::move(redirections);
  command.assignments = std::move(assignments);

  if (words.empty()) {
    for (auto& [name, value] : values) scope_.set(name, std::move(value));
    bool reads = false;
    for (const RedirectionNode& each : node.redirections)
      reads = reads || each.kind == RedirectionKind::kRead;
    return reads ? std::nullopt : Text("");  // $(< FILE)
  }
  const auto program = program_name(words[0]);
  Text read_input = input;  // as `read` splits it
  const bool is_special = program && is_one_of(*program, kSpecial);
  for (const auto& [name, value] : values) {
    if (is_special) scope_.forget(name);
    scope_.touch(name);
    if (name == "IFS" && value.items[0].find_first_not_of(" \t\n") != std::string::npos)
      read_input.reset();
  }
  const bool hides = !words[0].is_known() || words[0].has_glob;
  if (hides) {
    add_unknown(words[0].span, words[0].has_glob ? "the program's name is a pattern"
                                                 : "the program's name is made at run time");
  }
  const std::string name(program.value_or(""));
  // A program that is not known may be a builtin; a function that calls itself is still being read.
  const bool calls = !program || open_functions_.contains(name);
  if (calls) scope_.forget("*");
  // What may be $1 and on.
  if (calls || functions_.contains(name) || is_listed(name, "set . source")) {
    for (std::size_t i = 1; i < words.size(); ++i) add_names(words[i], given_[kPositional]);
  }
  suppose_call(words, frame, input);
  if (program) {
    call_function(name);
  } else {
    for (const std::string& function : functions_) {
      if (stopped_) break;
      call_function(function);
    }
  }
  // What follows is not reached, and its assignments are made for no trap.
  const bool ends_here = program == "exit" && conditions_ == 0 && frame.function < 0 &&
                         !frame.in_background && !functions_.contains("exit");
  if (ends_here && !spend(scope_.exit())) return std::nullopt;
  const std::size_t hidden = hidden_;
  are_given_ = are_given;
  look_through(words, frame, program == "read" ? read_input : input, true);
  if (hides || hidden_ > hidden) suppose_values(node, frame, input);
  if (!prints) return "";
  // Without defaults any name may be a function's, of a text that is not known.
  if (functions_.contains(name) || !scope_.has_defaults()) return std::nullopt;
  return constant_output(words, input, output_context());
}

OutputContext Walker::output_context() const {
  const auto value = [&](const char* name) {
    const Value* found = scope_.find(name);
    return found == nullptr || found->items.size() != 1 ? std::string{kHole} : found->items[0];
  };
  return {value("TMPDIR"), value("PWD")};
}

// What a builtin does to variables.
void Walker::apply_builtin(const std::vector<Field>& words) {
  const auto program = program_name(words[0]);
  if (!program) return;
  if (is_one_of(*program, kDeclarations)) return apply_declaration(words);
  if (is_one_of(*program, kReaders)) return forget_read(words);
  if (*program == "set") return apply_set(words);
  if (*program == "shift") return apply_shift(words);
  if (*program == "unset") return apply_unset(words);
  if (*program == "cd" || *program == "pushd" || *program == "popd") {
    ++moves_;
    scope_.doubt("PWD", true);
  } else if (*program == "let") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      Names& names = evaluated(words[i].span);
      // The pattern in `let m=2*n` is not meant to be one.
      const bool is_bare = words[i].text.find_first_not_of("*?") == std::string::npos;
      if (words[i].has_glob && is_bare) names.insert(kAnything);
      add_names(words[i].text, names);
      if (words[i].is_known()) {
        apply_arithmetic(words[i].text);
      } else {
        scope_.forget("*");
      }
    }
  } else if (*program == "printf" && words.size() > 1 && words[1].text.starts_with("-v")) {
    const std::string name = words[1].text.size() > 2 ? words[1].text.substr(2)
                             : words.size() > 2       ? words[2].text
                                                      : "*";
    const std::string variable = name.substr(0, name.find('['));
    given_[variable].insert(kAnything);
    scope_.forget(variable);
  }
}

void Walker::apply_set(const std::vector<Field>& words) {
  ++moves_;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    const bool ends = text == "--" || text == "-";
    if (!ends && (text.starts_with('-') || text.starts_with('+'))) {
      if (text.find('o') != std::string::npos) ++i;  // -euo pipefail
      continue;
    }
    std::vector<std::string> arguments(
        1, scope_.positional ? scope_.positional->at(0)
                             : std::string(1, scope_.has_own_name ? kSelf : kHole));
    bool is_certain = true;
    for (std::size_t n = i + (ends ? 1 : 0); n < words.size(); ++n) {
      is_certain = is_certain && !words[n].splits && !words[n].has_glob;
      arguments.push_back(words[n].text);
    }
    scope_.positional.reset();
    if (is_certain) scope_.positional = std::move(arguments);
    return;
  }
}

void Walker::apply_shift(const std::vector<Field>& words) {
  const std::string by = words.size() > 1 ? words[1].text : "1";
  const bool is_number = by.size() == 1 && is_digit(by[0]);
  const std::size_t count = is_number ? static_cast<std::size_t>(by[0] - '0') : 0;
  if (is_number && scope_.positional && scope_.positional->size() > count) {
    const auto first = scope_.positional->begin() + 1;
    scope_.positional->erase(first, first + static_cast<std::ptrdiff_t>(count));
  } else {
    scope_.positional.reset();
  }
}

void Walker::apply_unset(const std::vector<Field>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i].text;
    if (!is_name(name) && !name.starts_with('-')) scope_.forget("*");
    scope_.unset(name);
    if (supposed_ == 0) unset_names_.insert(name);
  }
}

// read, mapfile, getopts and their like: the names that are given what only the run knows.
void Walker::forget_read(const std::vector<Field>& words) {
  scope_.forget("REPLY");
  scope_.forget("MAPFILE");
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].is_known()) scope_.forget("*");
    const std::string& text = words[i].text;
    std::size_t end = 0;
    while (end < text.size() &&
           (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end]))))
      ++end;
    scope_.forget(text.substr(0, end));
    given_[text.starts_with("-a") ? text.substr(2) : text.substr(0, end)].insert(kAnything);
    if (text.starts_with('-') && text.size() > 2) scope_.forget(text.substr(2));  // -aNAME
  }
}

// read and mapfile where what they read is known: each name has one of the lines. False: it is not.
bool Walker::apply_read(const std::vector<Field>& words, const Text& input) {
  const auto name = program_name(words[0]);
  if (!name) return false;
  const std::string_view program = *name;
  const bool is_read = program == "read";
  if (!is_read && program != "mapfile" && program != "readarray") return false;
  if (!input || !is_bounded(*input) || !spend(input->size())) return false;
  Options options(words, is_read ? "adinNptu" : "dnOsuCc", "");
  bool is_array = !is_read;
  std::vector<std::string> names;
  while (const auto option = options.next()) {
    if (option->name == "u" || option->name == "i" || option->name == "C") return false;
    if (option->name == "a" && option->value) {
      is_array = true;
      names.emplace_back(*option->value);
    }
  }
  for (std::size_t i = options.at(); i < words.size(); ++i) names.push_back(words[i].text);
  if (names.empty()) names.emplace_back(is_read ? "REPLY" : "MAPFILE");
  const bool splits = is_read && (is_array || names.size() > 1);
  std::vector<std::string> items;
  for (std::string_view line : split(*input, '\n')) {
    while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
    while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
    if (!splits) {
      if (!line.empty()) items.emplace_back(line);
      continue;
    }
    for (const std::string_view item : split(line, ' ')) {
      if (!item.empty()) items.emplace_back(item);
    }
  }
  if (items.empty()) return false;
  Value value{{is_array ? items : std::vector<std::string>{join_values(items)}}, is_array};
  for (const std::string& each : names) {
    const std::string variable = each.substr(0, each.find('['));
    for (const std::string& item : items) add_names(item, given_[variable]);
    if (is_name(each)) {
      scope_.set(each, value);
    } else {
      scope_.forget(variable);
    }
  }
  return true;
}

void Walker::apply_declaration(const std::vector<Field>& words) {
  const auto program = *program_name(words[0]);
  bool is_plain = true;
  bool is_evaluated = false;
  bool is_map = false;
  bool freezes = program == "readonly";
  bool is_local = program != "export" && program != "readonly" && scope_.is_late();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text.starts_with('-') || text.starts_with('+')) {
      if (text.find_first_not_of("xrga", 1) != std::string::npos) is_plain = false;
      // A reference: assigning to one name changes another.
      if (text.find('n') != std::string::npos && program != "export") scope_.distrust("*");
      is_evaluated = is_evaluated || text.find_first_of("in") != std::string::npos;
      is_map = is_map || text.find('A') != std::string::npos;
      freezes = freezes || text.find('r') != std::string::npos;
      is_local = is_local && text.find('g') == std::string::npos;
      continue;
    }
    const std::size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    const bool appends = name.ends_with('+');
    if (appends) name.pop_back();
    if (!are_given_) note_given(text);
    if (is_evaluated) evaluated(words[i].span).insert(is_name(name) ? name : kAnything);
    if (is_map && conditions_ == 0) scope_.set(name + kMapMark, {});
    if (!is_name(name)) {
      scope_.forget("*");
      scope_.forget(name.substr(0, name.find('[')));  // NAME[index]
    } else if (!is_plain) {
      scope_.distrust(name);
    } else if (equals != std::string::npos) {
      // Outside a function `local` fails.
      const bool fails = program == "local" && open_functions_.empty() && supposed_ == 0;
      if (appends || fails) {
        scope_.forget(name);
      } else {
        scope_.set(name, {{text.substr(equals + 1)}, false});
      }
    } else if (is_local) {
      scope_.unset(name);
    } else if (program != "export" && program != "readonly") {
      scope_.doubt(name, scope_.is_set(name));
    }
    if (freezes) scope_.freeze(name);
  }
}

}  // namespace sbx::shell
