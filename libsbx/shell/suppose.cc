// SPDX-License-Identifier: Apache-2.0
// Walker: what may be run beside what stands there: behind a word that may be nothing, by a
// variable that has one of several texts, by a function with the words that it is called with.
#include <algorithm>
#include <utility>

#include "shell/parser.h"
#include "shell/run_parts.h"
#include "shell/walker.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kMostNested = 4;

bool is_nothing_known(const Field& word) { return word.text.size() == 1 && may_vanish(word); }

}  // namespace

// It has work of its own, so that what stands there is read as far as without it; what it would do
// to this shell and what it does not tell count for nothing.
template <typename Walk>
void Walker::suppose(const Walk& walk) {
  if (stopped_ || supposed_ == kMostNested) return;
  if (supposed_++ == 0) std::swap(work_left_, supposing_left_);
  const std::size_t kept = scope_.positional ? scope_.positional->size() : 0;
  const Scope::Mark mark = scope_.mark();
  const std::size_t unknown = reading_.unknown.size();
  const std::size_t read_in = reading_.read_in.size();
  const bool is_complete = reading_.complete;
  ++conditions_;
  const OpenRegion region = begin_region(RegionKind::kChild);
  if (spend(1 + kept * 4)) walk();
  end_region(region);
  --conditions_;
  moves_ = region.moves;
  reading_.unknown.resize(unknown);
  reading_.read_in.resize(read_in);
  reading_.complete = is_complete;
  scope_.undo(mark);
  if (--supposed_ > 0) return;
  if (stopped_) work_left_ = 0;
  std::swap(work_left_, supposing_left_);
  stopped_ = false;
}

void Walker::suppose_command(const std::vector<Field>& words, const Frame& frame,
                             const Text& input) {
  std::size_t bytes = frame.via.size() * sizeof(std::string);
  for (const Field& word : words) bytes += word.text.size() + sizeof(Word);
  if (words.empty() || !spend(bytes)) return;
  emit(frame, {words.front().span.begin, words.back().span.end}, words);
  suppose_call(words, frame, input);
  look_through(words, frame, input, false);
}

void Walker::suppose_rest(const std::vector<Field>& words, std::size_t from, const Frame& frame,
                          const Text& input) {
  while (from < words.size() && is_nothing_known(words[from])) ++from;
  if (from >= words.size()) return;
  suppose([&] {
    Frame inner = frame;
    inner.via.emplace_back("$");
    suppose_command(tail(words, from), inner, input);
  });
}

// A wrapper's own operand that was taken for options: timeout $T rm.
void Walker::suppose_operand(const std::vector<Field>& words, const Runs& runs, const Frame& frame,
                             const Text& input) {
  for (const Run& run : runs.runs) {
    if (run.kind != RunKind::kWords) continue;
    const std::size_t own = words.size() - std::min(run.words.size(), words.size());
    // What stands right before the run's words hides none of them.
    for (std::size_t i = 1; i + 1 < own; ++i) {
      if (is_nothing_known(words[i])) return suppose_rest(words, i + 1, frame, input);
    }
  }
}

const std::string* Walker::unknown_variable(const std::vector<Part>& parts) const {
  for (const Part& part : parts) {
    if (part.kind == PartKind::kDouble) {
      if (const std::string* inner = unknown_variable(part.parts)) return inner;
    }
    if (part.kind != PartKind::kParameter || !is_name(part.parameter->name)) continue;
    const Value* value = scope_.find(part.parameter->name);
    if (value == nullptr || std::any_of(value->items.begin(), value->items.end(), has_mark))
      return &part.parameter->name;
  }
  return nullptr;
}

void Walker::suppose_values(const SyntaxNode& node, const Frame& frame, const Text& input) {
  const std::string* name = nullptr;
  for (const WordNode& word : node.words) {
    if (name == nullptr) name = unknown_variable(word.parts);
  }
  if (name == nullptr) return;
  const bool is_sure = std::find(turns_.begin(), turns_.end(), *name) != turns_.end();
  for (const std::string& text : scope_.texts(*name)) {
    suppose([&] {
      const bool is_doubted = std::exchange(is_doubted_, is_doubted_ || !is_sure);
      scope_.suppose(*name, text);
      suppose_command(expand_operands(node), frame, input);
      scope_.end_supposing(*name);
      is_doubted_ = is_doubted;
    });
  }
}

void Walker::suppose_call(const std::vector<Field>& words, const Frame& frame, const Text& input) {
  const auto known = bodies_.find(words[0].text);
  if (known == bodies_.end()) return;
  const Body body = known->second;
  const bool is_there =
      body.tree_id == 0 || std::find(trees_.begin(), trees_.end(), body.tree_id) != trees_.end();
  // Within a function that is not called yet, "$@" tells nothing.
  const bool is_empty =
      scope_.is_late() && std::all_of(words.begin() + 1, words.end(), is_nothing_known);
  if (!is_there || is_empty || !open_functions_.insert(body.node->name).second) return;
  // As they are, and without those that may be nothing.
  std::vector<Field> given = tail(words, 1);
  do {
    suppose([&] {
      std::vector<std::string> arguments(1, std::string(1, kHole));
      std::size_t bytes = 0;
      for (const Field& word : given) {
        arguments.push_back(made_of(word));
        bytes += arguments.back().size() + sizeof(std::string);
      }
      if (!spend(bytes + body.own_names.size())) return;
      scope_.positional = std::move(arguments);
      scope_.keeps_positional = true;
      for (const std::string& each : body.own_names) scope_.trust(each);
      const Tree* outer = std::exchange(tree_, body.tree);
      const std::string_view outer_script = std::exchange(script_, body.script);
      const std::size_t outer_end = std::exchange(script_end_, 0);
      const auto outer_whole =
          std::exchange(whole_, Span{words.front().span.begin, words.back().span.end});
      Frame inner = frame;
      inner.via.emplace_back("function");
      for (const SyntaxNode& child : body.node->children) walk_node(child, inner, input);
      whole_ = outer_whole;
      script_end_ = outer_end;
      script_ = outer_script;
      tree_ = outer;
      for (const std::string& each : body.own_names) scope_.distrust(each);
    });
  } while (std::erase_if(given, is_nothing_known) > 0);
  open_functions_.erase(body.node->name);
}

}  // namespace sbx::shell
