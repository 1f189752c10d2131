// SPDX-License-Identifier: Apache-2.0
// Walker: blocks, chains, pipelines and compound commands, and what they do to variables.
#include <algorithm>
#include <utility>

#include "shell/arithmetic.h"
#include "shell/marks.h"
#include "shell/parser.h"
#include "shell/walker.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kNodeWork = 256;  // about 65000 commands at most

// Whether the block ends as `read` does.
bool ends_in_read(const Block& block) {
  if (block.chains.empty() || block.chains.back().links.empty()) return false;
  const std::vector<SyntaxNode>& stages = block.chains.back().links.back().pipeline.stages;
  std::string program;
  return !stages.empty() && !stages.back().words.empty() &&
         plain_text(stages.back().words[0], program) && program == "read";
}

bool is_simple(const Pipeline& pipeline) {
  return pipeline.stages.size() == 1 && pipeline.stages[0].kind == SyntaxKind::kSimple;
}

bool tells(const Block& block);

// Whether, where it has succeeded, each `cd` in it has that counts behind it.
bool tells(const Pipeline& pipeline) {
  if (pipeline.stages.size() != 1) return true;
  const SyntaxNode& node = pipeline.stages[0];
  return node.kind == SyntaxKind::kSimple || node.kind == SyntaxKind::kSubshell ||
         node.kind == SyntaxKind::kArithmetic || node.kind == SyntaxKind::kTest ||
         (node.kind == SyntaxKind::kGroup && tells(node.blocks[0]));
}

bool tells(const Block& block) {
  if (block.chains.empty() || block.chains.back().in_background) return false;
  const std::vector<ChainLink>& links = block.chains.back().links;
  return std::all_of(links.begin(), links.end(),
                     [](const ChainLink& link) { return tells(link.pipeline); });
}

// What a link is to those before it. `is_told`: all of them tell. `has_moved`: one of them may have
// changed the directory.
std::optional<RegionKind> region_of(const ChainLink& link, const ChainLink& before, bool is_told,
                                    bool leaves, bool has_moved) {
  if (link.connective == Connective::kOr)
    return leaves && is_told ? RegionKind::kOtherwise : RegionKind::kBranch;
  // The text between two simple commands tells it.
  const bool is_plain = is_simple(link.pipeline) && is_simple(before.pipeline);
  if (has_moved && is_told && !is_plain) return RegionKind::kNext;
  const bool is_compound = link.pipeline.stages.size() == 1 && !is_simple(link.pipeline);
  return is_compound ? std::optional(RegionKind::kBranch) : std::nullopt;
}

// if ! COMMAND.
bool is_negated(const Block& condition) {
  if (condition.chains.size() != 1 || condition.chains[0].links.size() != 1) return false;
  const Pipeline& pipeline = condition.chains[0].links[0].pipeline;
  return pipeline.is_negated && pipeline.stages.size() == 1;
}

}  // namespace

void Walker::add_unknown(Span span, const char* what) {
  ++hidden_;
  if (!reading_.unknown.empty() && reading_.unknown.back().span == span) return;
  reading_.unknown.push_back({span, what});
}

// Everything that may grow with the text is paid for here, so that no text costs more than a fixed
// amount: a word that is handed on and on, a variable that is doubled.
bool Walker::spend(std::size_t work) {
  if (stopped_) return false;
  if (work <= work_left_) {
    work_left_ -= work;
    return true;
  }
  stopped_ = true;
  reading_.complete = false;
  reading_.unknown.push_back({{}, "the command is too large to be read whole"});
  return false;
}

void Walker::forget_names(const NameRange& range) {
  if (!spend(range.end - range.begin)) return;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const std::string& name = tree_->assigned[i];
    if (scope_.is_unset(name)) continue;
    scope_.doubt(name, scope_.is_set(name));
  }
}

Walker::OpenRegion Walker::begin_region(RegionKind kind) {
  reading_.regions.push_back({kind, reading_.commands.size(), 0, false});
  const OpenRegion region{reading_.regions.size() - 1, moves_};
  // What these say of what stands before them counts wherever they stand.
  if (kind == RegionKind::kThen || kind == RegionKind::kNext || kind == RegionKind::kOtherwise)
    ++moves_;
  return region;
}

void Walker::end_region(OpenRegion region, bool leaves) {
  std::vector<Region>& regions = reading_.regions;
  regions[region.slot].end = reading_.commands.size();
  regions[region.slot].leaves = leaves;
  if (moves_ == region.moves)
    regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(region.slot));
}

Text Walker::walk_block(const Block& block, const Frame& frame, const Text& input) {
  Text output = "";
  for (const Chain& chain : block.chains) {
    if (!spend(1)) return std::nullopt;
    const Text more = walk_chain(chain, frame, input);
    if (output && more && output->size() + more->size() <= kMaxOutput) {
      *output += *more;
    } else {
      output.reset();
    }
  }
  return output;
}

Text Walker::walk_chain(const Chain& chain, const Frame& frame, const Text& input) {
  const Scope::Mark mark = scope_.mark();
  Frame inner = frame;
  inner.in_background = frame.in_background || chain.in_background;
  Text output = "";
  bool is_sure = true;  // what stands before has succeeded: it prints something constant
  NameRange uncertain;  // names of the links that may not have run
  std::vector<bool> was_set;
  for (const ChainLink& link : chain.links) {
    if (link.connective == Connective::kFirst || !spend(link.assigned.end - link.assigned.begin))
      continue;
    for (std::size_t i = link.assigned.begin; i < link.assigned.end; ++i)
      was_set.push_back(scope_.is_set(tree_->assigned[i]));
  }
  const std::size_t moves = moves_;
  bool is_told = true;
  std::optional<OpenRegion> child;
  if (chain.in_background) child = begin_region(RegionKind::kChild);
  for (const ChainLink& link : chain.links) {
    if (link.connective == Connective::kOr) forget_names(uncertain);
    const bool is_conditional =
        link.connective != Connective::kFirst || link.pipeline.stages.size() > 1;
    conditions_ += is_conditional ? 1 : 0;
    std::optional<RegionKind> kind;
    if (link.connective != Connective::kFirst) {
      kind = region_of(link, *(&link - 1), is_told, leaves(link.pipeline, frame), moves_ != moves);
    }
    const auto region = kind ? std::optional(begin_region(*kind)) : std::nullopt;
    const auto negated =
        link.pipeline.is_negated ? std::optional(begin_region(RegionKind::kNegated)) : std::nullopt;
    const Text more = walk_pipeline(link.pipeline, inner, input);
    if (negated) end_region(*negated);
    if (region) end_region(*region, kind == RegionKind::kOtherwise && leaves(link.pipeline, frame));
    conditions_ -= is_conditional ? 1 : 0;
    is_told = is_told && tells(link.pipeline);
    const bool is_or = link.connective == Connective::kOr;
    if (is_or) forget_names(link.assigned);
    if (!is_or) is_sure = is_sure && more && !more->empty() && !has_mark(*more);
    if (!output || !more) {
      if (!is_or || !is_sure) output.reset();
    } else if (!is_or) {
      *output += *more;
    } else if (!is_sure && !more->empty()) {
      output = join_values({*output, *more});
      *output += '\n';
    }
    if (link.connective != Connective::kFirst) {
      if (uncertain.end == 0) uncertain.begin = link.assigned.begin;
      uncertain.end = link.assigned.end;
    }
  }
  if (child) end_region(*child);
  if (chain.in_background) {
    scope_.undo(mark);
  } else if (spend(uncertain.end - uncertain.begin)) {
    for (std::size_t i = uncertain.begin; i < uncertain.end; ++i) {
      const std::size_t at = i - uncertain.begin;
      if (scope_.is_unset(tree_->assigned[i])) continue;
      scope_.doubt(tree_->assigned[i], at < was_set.size() && was_set[at]);
    }
  }
  return output;
}

Text Walker::walk_pipeline(const Pipeline& pipeline, const Frame& frame, const Text& input) {
  Frame inner = frame;
  const std::size_t stages = pipeline.stages.size();
  if (stages != 1 || frame.stages == 1) {  // one alone in a stage of another belongs to that
    inner.pipeline = ++pipelines_;
    inner.stage = 0;
    inner.stages = static_cast<std::uint32_t>(std::max<std::size_t>(stages, 1));
  }
  if (stages == 1) return walk_node(pipeline.stages[0], inner, input);
  Text output = stages == 0 ? Text("") : input;
  for (const SyntaxNode& stage : pipeline.stages) {
    const Scope::Mark mark = scope_.mark();
    // Some shells run the last one themselves.
    const bool is_last = &stage == &pipeline.stages.back();
    const auto region = begin_region(is_last ? RegionKind::kBranch : RegionKind::kChild);
    output = walk_node(stage, inner, output);
    end_region(region);
    scope_.undo(mark);
    ++inner.stage;
  }
  if (stages > 0) forget_names(pipeline.stages.back().assigned);
  return output;
}

Text Walker::walk_node(const SyntaxNode& node, const Frame& frame, const Text& input) {
  // What is undone behind it keeps a copy of the positional parameters.
  const std::size_t kept = scope_.positional ? scope_.positional->size() : 0;
  if (!spend(kNodeWork + kept * 4)) return std::nullopt;
  const Frame outer = std::exchange(substitution_frame_, frame);
  substitution_frame_.pipeline = 0;
  substitution_frame_.stage = 0;
  substitution_frame_.stages = 1;
  Text output;
  if (node.kind == SyntaxKind::kSimple) {
    output = walk_simple(node, frame, input);
  } else {
    Text own_input = input;
    bool prints = true;
    if (!node.redirections.empty()) {
      const std::size_t slot = reading_.commands.size();
      // Its place in the order of the text; what it holds is not within its words.
      emit(frame, {node.span.begin, node.span.begin}, {});
      auto redirections = expand_redirections(node.redirections, own_input, prints);
      reading_.commands[slot].redirections = std::move(redirections);
    }
    const bool is_conditional = node.kind != SyntaxKind::kGroup;
    conditions_ += is_conditional ? 1 : 0;
    output = walk_compound(node, frame, own_input);
    conditions_ -= is_conditional ? 1 : 0;
    if (!prints) output = "";
  }
  substitution_frame_ = outer;
  return output;
}

Text Walker::walk_compound(const SyntaxNode& node, const Frame& frame, const Text& input) {
  switch (node.kind) {
    case SyntaxKind::kSimple:
      break;
    case SyntaxKind::kGroup:
      return walk_block(node.blocks[0], frame, input);
    case SyntaxKind::kSubshell: {
      const Scope::Mark mark = scope_.mark();
      const auto region = begin_region(RegionKind::kChild);
      Text output = walk_block(node.blocks[0], frame, input);
      end_region(region);
      moves_ = region.moves;
      scope_.undo(mark);
      return output;
    }
    case SyntaxKind::kIf:
    case SyntaxKind::kCase:
      walk_branches(node, frame, input);
      break;
    case SyntaxKind::kLoop:
    case SyntaxKind::kFor:
    case SyntaxKind::kArithmeticFor:
      walk_loop(node, frame, input);
      break;
    case SyntaxKind::kFunction:
      walk_function(node, frame);
      return "";
    case SyntaxKind::kCoprocess: {
      const Scope::Mark mark = scope_.mark();
      Frame inner = frame;
      inner.in_background = true;
      const auto region = begin_region(RegionKind::kChild);
      for (const SyntaxNode& child : node.children) walk_node(child, inner, std::nullopt);
      end_region(region);
      scope_.undo(mark);
      forget_names(node.assigned);
      break;
    }
    case SyntaxKind::kArithmetic:
      apply_arithmetic(evaluate(node.arithmetic, node.span));
      return "";
    case SyntaxKind::kTest:
      note_test(node.words);
      forget_names(node.assigned);
      return "";
  }
  return std::nullopt;
}

// Its names get numbers, unless it fails or a condition stands before them.
void Walker::apply_arithmetic(std::string_view text, bool is_certain) {
  if (!spend(text.size())) return;
  const ArithmeticNames names = arithmetic_names(text);
  const bool may_fail = names.may_fail || has_mark(text) ||
                        !std::all_of(names.read.begin(), names.read.end(),
                                     [&](const std::string& name) { return is_number(name); });
  for (const ArithmeticNames::Assigned& assigned : names.assigned) {
    const bool was_set = scope_.is_set(assigned.name);
    scope_.set(assigned.name, {{{kName}}, false});
    if (may_fail || !is_certain || !assigned.is_certain) scope_.doubt(assigned.name, was_set);
  }
}

// Whether arithmetic can take its value.
bool Walker::is_number(const std::string& name) const {
  const Value* value = scope_.find(name);
  if (value == nullptr) return scope_.is_unset(name);
  if (value->items.size() != 1) return false;
  const std::string& text = value->items[0];
  return text == std::string{kName} || text.find_first_not_of("0123456789") == std::string::npos;
}

void Walker::note_set(const NameRange& range, std::map<std::string, std::size_t>& sets,
                      std::set<std::string>& unset) {
  if (!spend(range.end - range.begin)) return;
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const std::string& name = tree_->assigned[i];
    if (name[0] == '*' || !seen.insert(name).second) continue;
    if (scope_.is_set(name)) ++sets[name];
    if (scope_.is_unset(name)) unset.insert(name);
  }
}

// Whether what stands behind the branch is not reached from it.
bool Walker::leaves(const Block& block, const Frame& frame) const {
  if (block.chains.empty() || block.chains.back().in_background) return false;
  const Chain& last = block.chains.back();
  return last.links.size() == 1 && leaves(last.links[0].pipeline, frame);
}

bool Walker::leaves(const Pipeline& pipeline, const Frame& frame) const {
  if (pipeline.stages.size() != 1) return false;
  const SyntaxNode& node = pipeline.stages[0];
  if (node.kind == SyntaxKind::kGroup) return leaves(node.blocks[0], frame);
  std::string name;
  if (node.kind != SyntaxKind::kSimple || node.words.empty() || !plain_text(node.words[0], name) ||
      functions_.contains(name)) {
    return false;
  }
  // Where there is nothing to return from, the shell goes on.
  return name == "exit" || (name == "return" && (frame.function >= 0 || whole_));
}

// if and case: each branch begins with what was known before it.
void Walker::walk_branches(const SyntaxNode& node, const Frame& frame, const Text& input) {
  const bool is_if = node.kind == SyntaxKind::kIf;
  for (const WordNode& word : node.words) expand_single(word);
  for (const WordNode& pattern : node.patterns) expand_single(pattern);
  const bool ends_in_else =
      is_if ? node.blocks.size() % 2 == 1
            : std::any_of(node.patterns.begin(), node.patterns.end(), [](const WordNode& pattern) {
                return pattern.parts.size() == 1 && pattern.parts[0].kind == PartKind::kLiteral &&
                       pattern.parts[0].text == "*";
              });
  std::map<std::string, std::size_t> sets;  // names, and how many branches give them a value
  std::set<std::string> unset;
  std::size_t branches = 0;
  const std::size_t moves = moves_;
  // Behind `if ! COMMAND; then exit; fi` it has succeeded.
  const bool is_guard = is_if && node.blocks.size() > 1 && is_negated(node.blocks[0]) &&
                        tells(node.blocks[0]) && leaves(node.blocks[1], frame);
  for (std::size_t i = 0; i < node.blocks.size(); ++i) {
    const bool is_condition = is_if && i % 2 == 0 && i + 1 < node.blocks.size();
    if (is_condition && i == 0) {
      if (is_guard) {
        walk_pipeline(node.blocks[0].chains[0].links[0].pipeline, frame, input);
      } else {
        walk_block(node.blocks[0], frame, input);
      }
      continue;
    }
    const Scope::Mark mark = scope_.mark();
    RegionKind kind = RegionKind::kBranch;
    if (is_if && i == 1 && moves_ != moves && tells(node.blocks[0]))
      kind = is_guard ? RegionKind::kOtherwise : RegionKind::kThen;
    const auto region = begin_region(kind);
    walk_block(node.blocks[i], frame, input);
    const bool is_left = !is_condition && leaves(node.blocks[i], frame);
    end_region(region, is_left);
    if (is_condition) continue;
    if (!is_left) {
      note_set(node.blocks[i].assigned, sets, unset);
      ++branches;
    }
    scope_.undo(mark);
  }
  const std::size_t certain = is_if ? 1 : 0;  // the first condition always runs
  for (std::size_t i = certain; i < node.blocks.size(); ++i) forget_names(node.blocks[i].assigned);
  for (const auto& [name, times] : sets) {
    if (ends_in_else && times == branches) scope_.doubt(name, true);  // whichever it was
  }
  for (const std::string& name : unset) scope_.unset(name);
}

void Walker::walk_loop(const SyntaxNode& node, const Frame& frame, const Text& input) {
  std::vector<Field> values;
  if (!node.name.empty()) {
    names_ = &given_[node.name];
    if (node.kind == SyntaxKind::kFor && !node.has_in) names_->insert(kPositional);
  }
  for (const WordNode& word : node.words) expand_word(word, values);
  names_ = nullptr;
  const std::string head = evaluate(node.arithmetic, node.span);
  forget_names(node.assigned);
  const Scope::Mark mark = scope_.mark();
  if (node.kind == SyntaxKind::kFor) {  // each turn begins with one of them
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const Field& value : values) items.push_back(made_of(value));
    const bool takes_positional = !node.has_in && scope_.positional.has_value();
    if (takes_positional) {
      if (!spend(scope_.positional->size() * sizeof(std::string))) return;
      items.assign(scope_.positional->begin() + 1, scope_.positional->end());
    }
    const bool is_known =
        (node.has_in || takes_positional) && !items.empty() && !has_hole(items.front());
    for (const std::string& item : items) scope_.note_text(node.name, item);
    scope_.set(node.name, {{is_known ? join_values(items) : std::string{kHole}}, false});
  }
  if (node.kind == SyntaxKind::kArithmeticFor) {
    const std::size_t start = std::min(head.find(';'), head.size());
    apply_arithmetic(std::string_view(head).substr(start), false);
    apply_arithmetic(std::string_view(head).substr(0, start));
    for (const Block& block : node.blocks) forget_names(block.assigned);
  }
  const auto region = begin_region(RegionKind::kLoop);
  if (node.kind == SyntaxKind::kFor) turns_.push_back(node.name);
  for (const Block& block : node.blocks) walk_block(block, frame, input);
  if (node.kind == SyntaxKind::kFor) turns_.pop_back();
  end_region(region);
  std::map<std::string, std::size_t> sets;
  std::set<std::string> unset;
  note_set(node.assigned, sets, unset);
  scope_.undo(mark);
  forget_names(node.assigned);
  for (const std::string& name : unset) scope_.unset(name);
  if (node.kind == SyntaxKind::kLoop && !node.blocks.empty() && ends_in_read(node.blocks[0]))
    empty_names(node.blocks[0].assigned);
}

// What `read` finds at the end of its input.
void Walker::empty_names(const NameRange& range) {
  if (!spend(range.end - range.begin)) return;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const std::string& name = tree_->assigned[i];
    if (!is_name(name) || name == "IFS") continue;
    scope_.set(name, {{""}, false});
    scope_.unset(name);
  }
}

// What its body takes from outside may have no value yet, and what it unsets has none from here on.
void Walker::call_function(const std::string& name) {
  if (supposed_ > 0 || !spend(1 + scope_.call(name))) return;
  const auto unset = unsets_.find(name);
  if (unset == unsets_.end() || !spend(unset->second.size())) return;
  for (const std::string& each : unset->second) {
    scope_.unset(each);
    unset_names_.insert(each);
    used_up_.insert(each);
  }
}

void Walker::walk_function(const SyntaxNode& node, const Frame& frame) {
  const Scope::Mark mark = scope_.mark();
  scope_.forget("*");
  scope_.enter_later();
  Frame inner = frame;
  inner.function = static_cast<std::int32_t>(reading_.functions.size());
  inner.pipeline = 0;
  inner.stage = 0;
  inner.stages = 1;
  reading_.functions.push_back({node.name_span, node.name});
  const bool is_new = open_functions_.insert(node.name).second;
  Scope::Names outer_wanted = scope_.begin_function();
  std::set<std::string> outer_unset = std::exchange(unset_names_, {});
  const auto region = begin_region(RegionKind::kBranch);
  for (const SyntaxNode& child : node.children) walk_node(child, inner, std::nullopt);
  end_region(region);
  scope_.end_function(node.name, std::move(outer_wanted));
  std::erase_if(unset_names_, [&](const std::string& name) { return scope_.is_set(name); });
  unsets_[node.name] = std::exchange(unset_names_, std::move(outer_unset));
  if (is_new) open_functions_.erase(node.name);
  functions_.insert(node.name);
  scope_.undo(mark);
  Body body{&node,
            tree_,
            script_.empty() ? whole_text_ : script_,
            {},
            trees_.empty() ? 0 : trees_.back()};
  // It may be called at any time from now on.
  if (!spend(node.assigned.end - node.assigned.begin)) return;
  for (std::size_t i = node.assigned.begin; i < node.assigned.end; ++i) {
    const std::string& name = tree_->assigned[i];
    if (name == kEveryName) continue;
    if (!scope_.is_distrusted(name)) body.own_names.push_back(name);
    scope_.distrust(name);
  }
  bodies_[node.name] = std::move(body);
}

}  // namespace sbx::shell
