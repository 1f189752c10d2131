// SPDX-License-Identifier: Apache-2.0
// Walker: what commands run in turn, read through as deep as it goes.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shell/arguments.h"
#include "shell/options.h"
#include "shell/parser.h"
#include "shell/programs.h"
#include "shell/run_parts.h"
#include "shell/unshown.h"
#include "shell/walker.h"

namespace sbx::shell {
namespace {

bool is_standard_input(std::string_view path) {
  return path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0" || path == "-";
}

bool is_known_file(const Field& field) {
  return !field.is_process && !is_standard_input(field.text) && field.is_known();
}

// What is read there without being a file; nullopt: not known.
Text text_behind(const Field& field, const Text& input) {
  if (field.is_process) return field.process_output;
  return is_standard_input(field.text) ? input : std::nullopt;
}

// env -C: $PWD is where the shell is, not where the program runs.
bool moves_its_program(const std::vector<Field>& words) {
  if (program_name(words[0]) != "env") return false;
  Options options(words, kEnvLetters, kEnvNames);
  while (const auto option = options.next()) {
    if (option->name == "C" || option->name == "chdir") return true;
  }
  return false;
}

}  // namespace

// What env and its like give another program, or keep from it: that name is not what this shell
// has.
void Walker::note_environment(const std::vector<Field>& words) {
  for (const Field& word : words) {
    const std::size_t equals = word.text.find('=');
    if (equals == std::string::npos || !is_name(std::string_view(word.text).substr(0, equals)))
      continue;
    if (!are_given_) note_given(word.text);
    scope_.touch(word.text.substr(0, equals));
  }
  const auto program = program_name(words[0]);
  const bool is_env = program == "env";
  if (!is_env && program != "exec" && program != "export") return;
  Options options(words, is_env ? kEnvLetters : "a", is_env ? kEnvNames : "");
  while (const auto option = options.next()) {
    const std::string_view name = option->name;
    const bool unsets = name == "u" || name == "unset";
    if (unsets && option->value && !has_mark(*option->value)) {
      scope_.touch(std::string(*option->value));
    } else if (unsets || (is_env && (name == "i" || name == "ignore-environment")) ||
               (program == "exec" && name == "c")) {
      scope_.forget_defaults();
    } else if (program == "export" && name == "n") {
      for (const Field& word : words) scope_.touch(word.text);
    }
  }
  if (is_env && options.at() < words.size() && words[options.at()].text == "-")
    scope_.forget_defaults();
}

// The words that xargs and parallel make of what they read; nullopt: not known.
std::optional<std::vector<Field>> Walker::words_of_input(const Run& run, const Text& input) {
  static constexpr std::size_t kMostWords = 64;
  if (!input || !is_bounded(*input) || input->find_first_of("'\"\\") != std::string::npos ||
      !spend(input->size())) {
    return std::nullopt;
  }
  std::vector<std::string> items;
  for (const std::string_view line : split(*input, '\n')) {
    for (const std::string_view item : split(line, run.splits_lines ? '\n' : ' ')) {
      if (!item.empty()) items.emplace_back(item);
    }
  }
  std::vector<Field> words = run.words;
  if (!run.placeholder.empty()) {
    if (items.empty()) return std::nullopt;
    put_in(words, run.placeholder, fitting(words, join_values(items)));
    return words;
  }
  if (items.size() > kMostWords) items = {join_values(items)};
  for (const std::string& item : items) {
    Field field;
    field.span = run.text.span;
    field.text = item;
    words.push_back(std::move(field));
  }
  return words;
}

void Walker::look_through(const std::vector<Field>& words, const Frame& frame, const Text& input,
                          bool in_shell) {
  if (in_shell && runs_unshown(words)) reading_.unshown.push_back(words[0].span);
  if (in_shell && !apply_read(words, input)) apply_builtin(words);
  if (!program_name(words[0]) && may_vanish(words[0])) suppose_rest(words, 1, frame, input);
  note_environment(words);
  Runs found = find_runs(words, input && spend(input->size()) ? input : std::nullopt);
  if (moves_its_program(words)) {
    for (Run& run : found.runs) {
      for (Field& word : run.words)
        std::replace(word.text.begin(), word.text.end(), kWorking, kHole);
    }
  }
  for (const Span span : found.unknown)
    add_unknown(span, "only the run knows whether this is an option");
  if (found.runs.empty()) return;
  suppose_operand(words, found, frame, input);
  if (++depth_ > kMaxDepth) {
    add_unknown(words[0].span, "it is nested too deeply");
    reading_.complete = false;
  } else {
    for (const Run& run : found.runs) {
      // In a script, bash gives an alias its meaning only where it is told to.
      const bool is_told = whole_text_.find("expand_aliases") != whole_text_.npos;
      if (run.via != "alias" || is_told) follow(run, frame, input, in_shell);
    }
  }
  --depth_;
}

void Walker::follow(const Run& run, const Frame& frame, const Text& input, bool in_shell) {
  Frame inner = frame;
  inner.via.push_back(run.via);
  inner.has_more_words = frame.has_more_words || run.has_more_words;
  inner.is_unbounded = frame.is_unbounded || (run.has_more_words && run.bounded.empty());
  std::size_t bytes = run.text.text.size() + inner.via.size() * sizeof(std::string);
  for (const Field& word : run.words) bytes += word.text.size() + sizeof(Word);
  for (const Field& word : run.bounded) bytes += word.text.size() + sizeof(Word);
  if (!spend(bytes)) return;
  if (run.kind == RunKind::kWords) return follow_words(run, frame, inner, input, in_shell);
  if (run.kind == RunKind::kHere) return follow_here(run, inner, input);
  if (run.kind == RunKind::kSource) return follow_source(run, inner, input);
  const bool is_input = run.kind == RunKind::kInput;
  if (is_input && !input) {
    if (frame.stage > 0 || frame.has_more_words) add_unknown_text(run.text.span);
    return;
  }
  // What stays within a shell of its own.
  const Scope::Mark mark = scope_.mark();
  if (run.kind == RunKind::kLater) {
    note_text(run.text);
    scope_.forget("*");
    scope_.enter_later();
    Scope::Names wanted = scope_.begin_function();
    read_script(run.text.text, run.text.span, inner, std::nullopt, true);
    scope_.end_trap(std::move(wanted));
  } else {
    const std::size_t moves = moves_;
    // Texts within texts have one span.
    const auto id = run.text.span.begin << 7 | static_cast<std::uint32_t>(depth_ & 127);
    scope_.enter_shell(id, run.via != "sh -c" && run.via != "dash -c");
    if (is_input) read_script(*input, run.text.span, inner, std::nullopt);
    if (run.kind == RunKind::kFile) follow_file(run, inner, input);
    if (run.kind == RunKind::kText) {
      moves_ = 0;
      follow_text(run, inner, input);
      moves_ = moves;
    }
  }
  scope_.undo(mark);
}

void Walker::follow_words(const Run& run, const Frame& frame, const Frame& inner, const Text& input,
                          bool in_shell) {
  if (run.takes_input) {
    if (auto words = words_of_input(run, input)) {
      Run with_words = run;
      with_words.takes_input = false;
      with_words.has_more_words = false;
      with_words.placeholder.clear();
      with_words.words = std::move(*words);
      return follow(with_words, frame, std::nullopt, in_shell);
    }
  }
  if (!run.placeholder.empty()) {
    Run without = run;
    without.placeholder.clear();
    without.takes_input = false;
    put_in(without.words, run.placeholder, std::string_view(&kHole, 1));
    return follow(without, frame, input, in_shell);
  }
  if (run.words.empty()) {
    if (inner.has_more_words) add_unknown(run.text.span, "the program's name is made at run time");
    return;
  }
  const Field& first = run.words[0];
  // Words that it reads stand in front of it.
  const std::uint32_t end = std::max(first.span.end, run.words.back().span.end);
  emit(inner, {first.span.begin, end}, run.words);
  if (!first.is_known() || first.has_glob)
    add_unknown(first.span, "the program's name is made at run time");
  const bool stays = in_shell && (run.via == "command" || run.via == "builtin");
  if (stays && !program_name(first)) scope_.forget("*");
  look_through(run.bounded.empty() ? run.words : run.bounded, inner, input, stays);
}

void Walker::follow_text(const Run& run, const Frame& inner, const Text& input) {
  note_text(run.text);
  const bool has_more = run.has_more_words || inner.is_unbounded;
  if (has_more) given_[kPositional].insert(kAnything);
  for (const Field& word : run.words) add_names(word, given_[kPositional]);
  scope_.has_own_name = run.words.empty() && !has_more;
  if (!has_more) {
    scope_.positional.emplace(1, std::string(1, kSelf));  // the first word is the shell's name
    for (std::size_t i = 0; i < run.words.size(); ++i) {
      if (run.words[i].splits || run.words[i].has_glob) {
        scope_.positional.reset();
        break;
      }
      if (i > 0) scope_.positional->emplace_back();
      scope_.positional->back() = run.words[i].text;
    }
  }
  Frame script = inner;
  script.has_more_words = run.has_more_words;
  script.is_unbounded = run.has_more_words;
  read_script(run.text.text, run.text.span, script, input);
  spend(scope_.end(used_up_));
}

void Walker::follow_here(const Run& run, const Frame& inner, const Text& input) {
  note_text(run.text);
  read_script(run.text.text, run.text.span, inner, input);
  if (!is_bounded(run.text.text)) scope_.forget(kEveryNameAnew);
}

// A file is like any other program.
void Walker::follow_file(const Run& run, const Frame& inner, const Text& input) {
  if (const Text text = text_behind(run.text, input)) {
    read_script(*text, run.text.span, inner, std::nullopt);
  } else if (!is_known_file(run.text)) {
    add_unknown_text(run.text.span);
  }
}

void Walker::follow_source(const Run& run, const Frame& inner, const Text& input) {
  if (const Text text = text_behind(run.text, input)) {
    read_script(*text, run.text.span, inner, std::nullopt);
  } else {
    if (is_known_file(run.text)) {
      reading_.unshown.push_back(run.text.span);
      reading_.read_in.push_back(run.text.span);
    } else {
      add_unknown_text(run.text.span);
    }
  }
  if (run.text.is_process && run.text.process_output) return;
  if (!run.text.has_glob && program_name(run.text)) {
    if (!may_be_written(run.text)) return;
    scope_.distrust(kEveryNameAnew);  // the tree does not say that this assigns
  }
  scope_.forget(kEveryNameAnew);
}

void Walker::add_unknown_text(Span span) {
  add_unknown(span, "the text that a shell runs is made at run time");
  reading_.unshown.push_back(span);
}

// Names of files are of any letters, and not known to be harmless in a text.
void Walker::note_text(const Field& text) {
  if (!is_bounded(text.text)) return add_unknown_text(text.span);
  if (may_be_text(text.text)) reading_.unshown.push_back(text.span);
}

// Whether the text itself may have made the file that is read in, as far as its name tells.
bool Walker::may_be_written(const Field& file) {
  if (file.is_process || is_standard_input(file.text) || file.text.starts_with("/dev/") ||
      file.text.starts_with("/proc/") || !spend(reading_.commands.size())) {
    return true;
  }
  const std::string name(base_name(file.text));
  for (const Command& command : reading_.commands) {
    for (const Redirection& redirection : command.redirections) {
      const bool writes = redirection.kind == RedirectionKind::kTruncate ||
                          redirection.kind == RedirectionKind::kAppend;
      if (writes && base_name(redirection.target.text) == name) return true;
    }
    if (command.words.empty() || !spend(command.words.size())) continue;
    const std::string_view program = base_name(command.words[0].text);
    if (!is_writing_program(program) && program != "curl" && program != "wget" && program != "sed")
      continue;
    if (std::any_of(command.words.begin() + 1, command.words.end(), [&](const Word& word) {
          return base_name(word.text) == name || base_name(word.text) == "." ||
                 word.text.ends_with('/') || word.text.ends_with('=' + name);
        })) {
      return true;
    }
  }
  return false;
}

// The text of another shell, or of eval: its spans are those of the word that holds it.
void Walker::read_script(std::string_view text, Span span, const Frame& frame, const Text& input,
                         bool is_later) {
  if (!spend(text.size())) return;
  const std::string script = as_script(text.substr(0, kMaxText));
  Source source;
  source.text = script;
  source.is_inside_word = true;
  source.whole = span;
  Tree tree;
  parse_shell(source, depth_, tree);
  for (const Unknown& fault : tree.faults) add_unknown(fault.span, fault.what.c_str());
  // What a hole stands for may be what is wrong; the text is in `unknown` then.
  if (!tree.faults.empty() && !has_mark(text)) reading_.complete = false;
  const Tree* outer = std::exchange(tree_, &tree);
  const std::string_view outer_script = std::exchange(script_, script);
  const std::size_t outer_end = std::exchange(script_end_, 0);
  trees_.push_back(++trees_made_);
  walk_block(tree.block, frame, input);
  trees_.pop_back();
  tree_ = outer;
  script_ = outer_script;
  script_end_ = outer_end;
  if (!is_later || !spend(tree.assigned.size())) return;
  for (const std::string& name : tree.assigned) {
    if (name != kEveryName) scope_.distrust(name);
  }
}

void Walker::assume(const std::map<std::string, std::string>& environment) {
  for (const auto& [name, given] : environment) {
    if (name == "IFS") continue;  // a shell does not take it from there
    const std::string value = without_marks(given);
    add_names(value, given_[name]);
    scope_.set(name, {{value}, false});
    if (assigns_unshown(name, value)) reading_.unshown.push_back({});
  }
}

void Walker::read_text(std::string_view text) {
  const Span whole = {0, static_cast<std::uint32_t>(std::min(text.size(), kMaxText))};
  if (text.size() > kMaxText) {
    reading_.complete = false;
    reading_.unknown.push_back({{whole.end, whole.end}, "the rest is too long to be read"});
  }
  Source source;
  source.text = text.substr(0, kMaxText);
  work_left_ += kWorkPerByte * source.text.size();
  Tree tree;
  parse_shell(source, depth_, tree);
  for (Unknown& fault : tree.faults) reading_.unknown.push_back(std::move(fault));
  if (!tree.faults.empty()) reading_.complete = false;
  tree_ = &tree;
  whole_text_ = source.text;
  walk_block(tree.block, {}, std::nullopt);
  spend(scope_.end(used_up_));
  end_evaluated();
}

void Walker::read_words(const std::vector<Field>& words) {
  if (words.empty()) return;
  const Span whole = {words[0].span.begin, words.back().span.end};
  work_left_ += kWorkPerByte * (whole.end - whole.begin);
  emit({}, whole, words);
  look_through(words, {}, std::nullopt, false);
  end_evaluated();
}

}  // namespace sbx::shell
