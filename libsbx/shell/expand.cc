// SPDX-License-Identifier: Apache-2.0
// Walker: words → fields: braces, variables, constant substitutions, splitting.
#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "shell/braces.h"
#include "shell/field_builder.h"
#include "shell/operation.h"
#include "shell/parser.h"
#include "shell/unshown.h"
#include "shell/walker.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kMaxBraceWords = 256;

Value unknown_value() { return {{std::string(1, kHole)}, false}; }

bool has_brace(const WordNode& word) {
  return std::any_of(word.parts.begin(), word.parts.end(), [](const Part& part) {
    return part.kind == PartKind::kLiteral && part.text.find('{') != std::string::npos;
  });
}

}  // namespace

void Walker::expand_word(const WordNode& word, std::vector<Field>& fields) {
  const std::size_t before = fields.size();
  add_word(word, fields);
  for (std::size_t i = before; names_ != nullptr && i < fields.size(); ++i) {
    if (fields[i].gives_file_names()) names_->insert(kAnything);
  }
}

void Walker::add_word(const WordNode& word, std::vector<Field>& fields) {
  if (stopped_) return;
  FieldBuilder builder(fields, whole_.value_or(word.span), scope_.separators(), true);
  if (!has_brace(word)) {
    add_working_directory(word.parts, builder);
    builder.finish();
    return;
  }
  const auto made = expand_braces(word.parts, kMaxBraceWords);
  if (!made) {
    add_parts(word.parts, false, builder);
    builder.add_unquoted(std::string(1, kHole));
    builder.finish();
    return add_unknown(word.span, "the braces make too many words");
  }
  std::map<const Part*, Text> substituted;
  std::map<const Part*, Text>* outer = std::exchange(substituted_, &substituted);
  for (const Pieces& pieces : *made) {
    for (const Piece& piece : pieces) {
      if (!spend(piece.text.size() + 1)) break;
      if (piece.part != nullptr) {
        add_part(*piece.part, false, builder);
      } else {
        if (names_ != nullptr) add_names(piece.text, *names_);
        builder.add_literal(piece.text);
      }
    }
    builder.finish();
  }
  substituted_ = outer;
}

// ~+ at the beginning of a word is $PWD.
void Walker::add_working_directory(const std::vector<Part>& parts, FieldBuilder& builder) {
  const bool begins = !parts.empty() && parts[0].kind == PartKind::kLiteral &&
                      parts[0].text.starts_with("~+") &&
                      (parts[0].text.size() > 2 ? parts[0].text[2] == '/' : parts.size() == 1);
  const Value* value = begins ? scope_.find("PWD") : nullptr;
  if (value == nullptr || value->items.size() != 1) return add_parts(parts, false, builder);
  builder.add_quoted(value->items[0]);
  builder.add_literal(std::string_view(parts[0].text).substr(2));
  for (std::size_t i = 1; i < parts.size() && !stopped_; ++i) add_part(parts[i], false, builder);
}

// Without splitting and braces, as in assignments and redirections.
Field Walker::expand_single(const WordNode& word) {
  std::vector<Field> fields;
  const Span span = whole_.value_or(word.span);
  FieldBuilder builder(fields, span, std::nullopt, false);
  if (!stopped_) add_parts(word.parts, false, builder);
  builder.finish();
  if (fields.empty()) fields.push_back({});
  fields[0].span = span;
  return std::move(fields[0]);
}

std::string Walker::expand_quoted(const std::vector<Part>& parts) {
  std::vector<Field> fields;
  FieldBuilder builder(fields, {}, std::nullopt, false);
  if (!stopped_) add_parts(parts, true, builder);
  builder.finish();
  return fields.empty() ? std::string() : std::move(fields[0].text);
}

void Walker::add_parts(const std::vector<Part>& parts, bool quoted, FieldBuilder& builder) {
  for (const Part& part : parts) {
    if (stopped_) return;
    add_part(part, quoted, builder);
  }
}

void Walker::add_part(const Part& part, bool quoted, FieldBuilder& builder) {
  if (names_ != nullptr) add_names(part.text, *names_);
  switch (part.kind) {
    case PartKind::kLiteral:
      if (quoted) {
        builder.add_quoted(part.text);
      } else {
        builder.add_literal(part.text);
      }
      break;
    case PartKind::kQuoted:
      builder.add_quoted(part.text);
      break;
    case PartKind::kDouble:
      // "$@" and "${a[@]}" alone may be nothing at all.
      if (part.parts.size() != 1 || part.parts[0].kind != PartKind::kParameter)
        builder.add_quoted("");
      add_parts(part.parts, true, builder);
      break;
    case PartKind::kParameter:
      add_parameter(part, quoted, builder);
      break;
    case PartKind::kArithmetic:
      evaluate(part.parts, part.span);
      builder.add_quoted(std::string(1, kName));  // a number
      break;
    case PartKind::kCommand: {
      Text text = substitute(part);
      if (text) {
        while (text->ends_with('\n')) text->pop_back();
      }
      const std::string value = text ? *text : std::string(1, kHole);
      if (!spend(value.size())) return;
      if (names_ != nullptr) add_names(value, *names_);
      if (quoted) {
        builder.add_quoted(value);
      } else {
        builder.add_unquoted(value);
      }
      break;
    }
    case PartKind::kProcess: {
      const Text text = substitute(part);
      builder.add_process(part.text == "<" ? text : std::nullopt);
      break;
    }
  }
}

// The commands of a substitution are read once, also where braces repeat it.
Text Walker::substitute(const Part& part) {
  if (substituted_ != nullptr) {
    const auto known = substituted_->find(&part);
    if (known != substituted_->end()) return known->second;
  }
  std::map<const Part*, Text>* outer = std::exchange(substituted_, nullptr);
  Names* outer_names = std::exchange(names_, nullptr);
  const Scope::Mark mark = scope_.mark();
  const Frame frame = substitution_frame_;
  const OpenRegion region = begin_region(RegionKind::kChild);
  Text text = part.block ? walk_block(*part.block, frame, std::nullopt) : std::nullopt;
  end_region(region);
  moves_ = region.moves;
  scope_.undo(mark);
  substituted_ = outer;
  names_ = outer_names;
  if (substituted_ != nullptr) substituted_->emplace(&part, text);
  return text;
}

// The plain value of the parameter, without its operation.
Value Walker::base_value(const Parameter& parameter, bool& is_known) {
  const std::string& name = parameter.name;
  const Text subscript = parameter.has_subscript ? Text(parameter.subscript) : std::nullopt;
  is_known = false;
  if (name == "@" || name == "*") {
    if (!scope_.positional) return unknown_value();
    is_known = true;
    return {{scope_.positional->begin() + 1, scope_.positional->end()}, true};
  }
  if (name == "0" && !scope_.positional) {
    is_known = scope_.has_own_name;
    return is_known ? Value{{{kSelf}}, false} : unknown_value();
  }
  if (name == "#" || (!name.empty() && is_digit(name[0]))) {
    if (!scope_.positional) return unknown_value();
    is_known = true;
    if (name == "#") return {{std::to_string(scope_.positional->size() - 1)}, false};
    const std::size_t index = name.size() > 4 ? kMaxBraceWords * 1000 : std::stoul(name);
    return {{index < scope_.positional->size() ? scope_.positional->at(index) : ""}, false};
  }
  if (name == "IFS" && !subscript) {
    const auto separators = scope_.separators();
    is_known = separators.has_value();
    return is_known ? Value{{*separators}, false} : unknown_value();
  }
  // The shell's own number, and its last exit status.
  if (name == "$" || name == "?") {
    is_known = true;
    return {{{kName}}, false};
  }
  const Value* value = scope_.find(name);
  if (value == nullptr) return unknown_value();
  is_known = true;
  if (subscript && (*subscript == "@" || *subscript == "*")) return {value->items, true};
  std::size_t index = 0;
  if (subscript) {
    const bool is_number = !subscript->empty() && subscript->size() < 6 &&
                           subscript->find_first_not_of("0123456789") == std::string::npos;
    is_known = is_number;
    if (!is_number) return unknown_value();
    index = std::stoul(*subscript);
  }
  // Of an array that is not known the one item stands for all.
  const bool is_one = value->is_array && value->items.size() == 1;
  if (is_one && (has_hole(value->items[0]) || has_mark(value->items[0]))) index = 0;
  return {{index < value->items.size() ? value->items[index] : ""}, false};
}

// The word behind the operation.
Walker::OperationWord Walker::expand_operation_word(const Part& part, bool quoted) {
  OperationWord out;
  for (const Part& each : part.parameter->word) {
    std::vector<Field> fields;
    FieldBuilder inner(fields, part.span, std::nullopt, false);
    add_part(each, quoted, inner);
    inner.finish();
    if (fields.empty()) continue;
    if (each.kind == PartKind::kLiteral && out.slash == std::string::npos) {
      out.slash = fields[0].text.find('/', out.text.empty() ? 1 : 0);
      if (out.slash != std::string::npos) out.slash += out.text.size();
    }
    out.text += fields[0].text;
  }
  return out;
}

// ${!x}; not ${!x[@]} and ${!x@}, which are keys and names.
void Walker::note_indirect(const Parameter& parameter, const Value& value, bool is_known,
                           Span span) {
  if (!parameter.is_indirect || parameter.has_subscript || parameter.operation == "unknown" ||
      (parameter.operation == "@" && parameter.word.empty())) {
    return;
  }
  if (is_name(parameter.name)) {
    evaluated(span).insert(parameter.name);
  } else if (parameter.name != "#") {
    add_names(is_known && value.items.size() == 1 ? value.items[0] : "$", evaluated(span));
  }
}

// Of the value of the name itself.
void Walker::apply_parameter(const Parameter& parameter, const OperationWord& word, Value& value,
                             bool& is_known) {
  const std::string& operation = parameter.operation;
  if (parameter.is_indirect && is_known && operation.empty() && !value.is_array &&
      value.items.size() == 1 && is_name(value.items[0])) {
    Parameter target;
    target.name = value.items[0];
    value = base_value(target, is_known);
  } else if (parameter.is_indirect) {
    is_known = false;
  }
  const bool is_from_first = operation == ":" && parameter.name == "@" && word.text.size() == 1 &&
                             word.text[0] > '0' && word.text[0] <= '9';
  if (parameter.is_length && (!is_known || value.items.empty() || has_mark(value.items[0]))) {
    is_known = true;
    value = {{{kName}}, false};
  } else if (parameter.is_length) {
    const bool counts = value.is_array;
    const std::size_t length = counts                ? value.items.size()
                               : value.items.empty() ? 0
                                                     : value.items[0].size();
    value = {{std::to_string(length)}, false};
  } else if (is_known && value.is_array && is_from_first) {
    const auto from =
        std::min<std::size_t>(static_cast<std::size_t>(word.text[0] - '1'), value.items.size());
    value.items.erase(value.items.begin(), value.items.begin() + static_cast<std::ptrdiff_t>(from));
  } else if (is_known && !operation.empty()) {
    for (std::string& item : value.items) {
      const Text made = value.is_array && operation == ":"
                            ? std::nullopt
                            : apply_operation(operation, item, word.text, word.slash);
      is_known = is_known && made;
      if (made) item = *made;
    }
    if (value.items.empty() && operation != "#" && operation != "%") is_known = false;
  }
  const bool is_one = !value.is_array && !parameter.has_subscript && !parameter.is_indirect &&
                      parameter.name != "@" && parameter.name != "*";
  if (!is_known && is_one && operation == "##" && word.text == "*/") {
    is_known = true;
    value = {{{kComponent}}, false};
  }
}

void Walker::add_parameter(const Part& part, bool quoted, FieldBuilder& builder) {
  const Parameter& parameter = *part.parameter;
  const std::string& operation = parameter.operation;
  const Span span = whole_.value_or(part.span);
  if (parameter.has_subscript) expand_index(parameter.name, parameter.index, span);
  bool is_known = false;
  Value value = base_value(parameter, is_known);
  note_indirect(parameter, value, is_known, span);
  Names* outer = names_;
  if (operation == ":") names_ = &evaluated(span);  // ${x:from:count}
  const OperationWord word = expand_operation_word(part, quoted);
  names_ = outer;
  const bool is_expanded_again =
      operation == "@" && word.text == "P" &&
      (!is_known || std::any_of(value.items.begin(), value.items.end(), may_hold_substitution));
  const bool may_assign = operation.ends_with('=');
  const bool assigns = may_assign && assigns_unshown(parameter.name, word.text);
  if (is_expanded_again || assigns) reading_.unshown.push_back(span);
  if (may_assign) add_names(word.text, given_[parameter.name]);
  // What is left where all but digits is taken away is a number.
  const bool is_number = operation == "//" && (word.text == "[!0-9]/" || word.text == "[^0-9]/");
  if (names_ != nullptr && !is_number) note_parameter(parameter, value, is_known);
  apply_parameter(parameter, word, value, is_known);
  if (may_assign && is_name(parameter.name)) {
    if (is_known && value.items.size() == 1) {
      scope_.set(parameter.name, value);
    } else {
      scope_.forget(parameter.name);
    }
  }

  std::size_t bytes = 1;
  for (const std::string& item : value.items) bytes += item.size() + 1;
  if (!spend(bytes)) return;
  if (is_known) return add_value(parameter, value, quoted, builder);
  const std::string_view defaults[] = {"-", ":-", "=", ":=", "+", ":+"};
  std::string made(1, kHole);
  // The default is what can be made out.
  if (std::find(std::begin(defaults), std::end(defaults), operation) != std::end(defaults))
    made += word.text;
  const bool is_all = parameter.name == "@" || parameter.subscript == "@";
  if (quoted && !is_all) return builder.add_quoted(made);
  builder.add_unquoted(made);
}

void Walker::add_value(const Parameter& parameter, const Value& value, bool quoted,
                       FieldBuilder& builder) const {
  const bool is_star = parameter.name == "*" || parameter.subscript == "*";
  if (!quoted) return builder.add_list(value.items);
  if (!value.is_array) return builder.add_quoted(value.items.empty() ? "" : value.items[0]);
  if (!is_star) return builder.add_quoted_list(value.items);
  const auto separators = scope_.separators();
  std::string joined;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) joined += !separators ? std::string(1, kHole) : separators->substr(0, 1);
    joined += value.items[i];
  }
  builder.add_quoted(joined);
}

}  // namespace sbx::shell
