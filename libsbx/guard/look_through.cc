// SPDX-License-Identifier: Apache-2.0
// Walker: what commands run in turn, read through as deep as it goes.
#include <algorithm>
#include <utility>

#include "guard/parser.h"
#include "guard/walker.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxText = 1u << 20;
constexpr const char* kTextUnknown = "the text that a shell runs is made at run time";

bool is_standard_input(std::string_view path) {
  return path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0" || path == "-";
}

}  // namespace

void Walker::look_through(const std::vector<Field>& words, const Place& place, const Text& input,
                          bool in_shell) {
  if (in_shell) apply_builtin(words);
  const Runs found = find_runs(words);
  for (const Span span : found.unknown)
    add_unknown(span, "only the run knows whether this is an option");
  if (found.runs.empty()) return;
  if (++depth_ > kMaxDepth) {
    add_unknown(words[0].span, "it is nested too deeply");
    reading_.complete = false;
  } else {
    for (const Run& run : found.runs) follow(run, place, input, in_shell);
  }
  --depth_;
}

void Walker::follow(const Run& run, const Place& place, const Text& input, bool in_shell) {
  Place inner = place;
  inner.via.push_back(run.via);
  inner.has_more_words = place.has_more_words || run.has_more_words;
  std::size_t bytes = run.text.text.size() + inner.via.size() * sizeof(std::string);
  for (const Field& word : run.words) bytes += word.text.size() + sizeof(Word);
  if (!spend(bytes)) return;

  const auto forget_all = [this] { scope_.forget("*"); };
  const auto read_file = [&](bool here) {
    Text text;
    if (run.text.is_process) {
      text = run.text.process_output;
    } else if (is_standard_input(run.text.text)) {
      text = input;
    } else if (run.text.is_known()) {
      return;  // a file like any other program
    }
    if (!text) return add_unknown(run.text.span, kTextUnknown);
    const Scope::Mark mark = scope_.mark();
    read_script(*text, run.text.span, inner, std::nullopt);
    if (!here) scope_.undo(mark);
  };

  switch (run.kind) {
    case RunKind::kWords: {
      if (run.words.empty()) {
        if (inner.has_more_words)
          add_unknown(run.text.span, "the program's name is made at run time");
        return;
      }
      const Field& first = run.words[0];
      emit(inner, {first.span.begin, run.words.back().span.end}, run.words);
      if (!first.is_known() || first.has_glob)
        add_unknown(first.span, "the program's name is made at run time");
      const bool stays = in_shell && (run.via == "command" || run.via == "builtin");
      if (stays && !program_name(first)) forget_all();
      look_through(run.words, inner, input, stays);
      return;
    }
    case RunKind::kText: {
      const Scope::Mark mark = scope_.mark();
      forget_all();
      if (run.text.text.find(kHole) != std::string::npos) add_unknown(run.text.span, kTextUnknown);
      if (!run.has_more_words && !inner.has_more_words) {
        scope_.positional.emplace(1, std::string(1, kHole));
        for (std::size_t i = 0; i < run.words.size(); ++i) {
          if (i == 0) {
            scope_.positional->at(0) = run.words[0].text;
          } else {
            scope_.positional->push_back(run.words[i].text);
          }
          if (run.words[i].splits || run.words[i].has_glob) {
            scope_.positional.reset();
            break;
          }
        }
      }
      Place script = inner;
      script.has_more_words = run.has_more_words;
      read_script(run.text.text, run.text.span, script, input);
      scope_.undo(mark);
      return;
    }
    case RunKind::kHere:
      if (run.text.text.find(kHole) != std::string::npos) {
        add_unknown(run.text.span, kTextUnknown);
        read_script(run.text.text, run.text.span, inner, input);
        forget_all();
      } else {
        read_script(run.text.text, run.text.span, inner, input);
      }
      return;
    case RunKind::kLater: {
      const Scope::Mark mark = scope_.mark();
      forget_all();
      read_script(run.text.text, run.text.span, inner, std::nullopt);
      scope_.undo(mark);
      scope_.distrust("*");
      return;
    }
    case RunKind::kInput: {
      if (!input) {
        if (place.stage > 0 || place.has_more_words) add_unknown(run.text.span, kTextUnknown);
        return;
      }
      const Scope::Mark mark = scope_.mark();
      forget_all();
      read_script(*input, run.text.span, inner, std::nullopt);
      scope_.undo(mark);
      return;
    }
    case RunKind::kFile: {
      const Scope::Mark mark = scope_.mark();
      forget_all();
      read_file(false);
      scope_.undo(mark);
      return;
    }
    case RunKind::kSource:
      read_file(true);
      if (!run.text.is_process || !run.text.process_output) forget_all();
      return;
  }
}

// The text of another shell, or of eval: its spans are those of the word that holds it.
void Walker::read_script(std::string_view text, Span span, const Place& place, const Text& input) {
  if (!spend(text.size())) return;
  Source source;
  source.text = text.substr(0, kMaxText);
  source.is_inside_word = true;
  source.whole = span;
  Tree tree;
  parse_shell(source, depth_, tree);
  for (const Unknown& fault : tree.faults) add_unknown(fault.span, fault.what.c_str());
  // What a hole stands for may be what is wrong; the text is in `unknown` then.
  if (!tree.faults.empty() && text.find(kHole) == std::string_view::npos) reading_.complete = false;
  const Tree* outer = std::exchange(tree_, &tree);
  walk_block(tree.block, place, input);
  tree_ = outer;
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
  walk_block(tree.block, {}, std::nullopt);
}

void Walker::read_words(const std::vector<Field>& words) {
  if (words.empty()) return;
  const Span whole = {words[0].span.begin, words.back().span.end};
  work_left_ += kWorkPerByte * (whole.end - whole.begin);
  emit({}, whole, words);
  look_through(words, {}, std::nullopt, false);
}

}  // namespace sbx
