// SPDX-License-Identifier: Apache-2.0
// Walker: a syntax tree → the commands of a reading. Follows plainly constant variables in the
// order of the text, and reads on in the texts that commands hand to other shells. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shell/field.h"
#include "shell/output.h"
#include "shell/runs.h"
#include "shell/scope.h"
#include "shell/syntax.h"

namespace sbx::shell {

using Text = std::optional<std::string>;  // of an input or output; nullopt: not known

// What a command takes over from what it stands in.
struct Frame {
  std::vector<std::string> via;
  bool has_more_words = false;
  bool is_unbounded = false;  // and no marks stand for those
  std::uint32_t pipeline = 0;
  std::uint32_t stage = 0;
  std::uint32_t stages = 1;
  std::int32_t function = -1;
  bool in_background = false;
};

class FieldBuilder;

// Names of variables that a text holds, or kAnything where it may hold a substitution.
using Names = std::set<std::string>;
inline constexpr const char* kAnything = "";
void add_names(std::string_view text, Names& names);
void add_names(const Field& field, Names& names);
inline constexpr const char* kEvaluated = "(";  // in given_: all that is evaluated
inline constexpr const char* kMapMark = "[]";   // behind the name of an array with names for keys

// How much work a reading may take, about its bytes and commands: this, and some for each byte.
inline constexpr std::size_t kMaxText = 1u << 20;
inline constexpr std::size_t kLeastWork = 2u << 20;
inline constexpr std::size_t kWorkPerByte = 16;
inline constexpr std::size_t kSupposingWork = 1u << 20;  // beside that

class Walker {
 public:
  // `history`: of a reading of the same text before this one; may be null.
  Walker(Reading& reading, const History* history) : reading_(reading) { scope_.history = history; }
  bool wants_history() const { return scope_.wants_history(); }
  History take_history() { return scope_.take_history(); }

  // What the environment has beside what any shell's has: as if the text began by assigning it.
  void assume(const std::map<std::string, std::string>& environment);
  void read_text(std::string_view text);
  void read_words(const std::vector<Field>& words);

 private:
  // A region of the reading; it stays in it where what it holds changes the directory.
  struct OpenRegion {
    std::size_t slot = 0;
    std::size_t moves = 0;
  };
  OpenRegion begin_region(RegionKind kind);
  void end_region(OpenRegion region, bool leaves = false);

  // walk.cc: nodes. Each answers what it would print.
  Text walk_block(const Block& block, const Frame& frame, const Text& input);
  Text walk_chain(const Chain& chain, const Frame& frame, const Text& input);
  Text walk_pipeline(const Pipeline& pipeline, const Frame& frame, const Text& input);
  Text walk_node(const SyntaxNode& node, const Frame& frame, const Text& input);
  Text walk_compound(const SyntaxNode& node, const Frame& frame, const Text& input);
  Text walk_simple(const SyntaxNode& node, const Frame& frame, const Text& input);
  void walk_branches(const SyntaxNode& node, const Frame& frame, const Text& input);
  void walk_loop(const SyntaxNode& node, const Frame& frame, const Text& input);
  void walk_function(const SyntaxNode& node, const Frame& frame);
  bool leaves(const Block& block, const Frame& frame) const;
  bool leaves(const Pipeline& pipeline, const Frame& frame) const;
  void call_function(const std::string& name);
  void forget_names(const NameRange& range);
  void apply_arithmetic(std::string_view text, bool is_certain = true);
  bool is_number(const std::string& name) const;
  void empty_names(const NameRange& range);
  // Counts the names of the range that are set here, and those that are unset.
  void note_set(const NameRange& range, std::map<std::string, std::size_t>& sets,
                std::set<std::string>& unset);

  // simple.cc: simple commands.
  std::vector<Field> expand_operands(const SyntaxNode& node);
  std::vector<Redirection> expand_redirections(const std::vector<RedirectionNode>& nodes,
                                               Text& input, bool& prints);
  void expand_assignments(const SyntaxNode& node, std::vector<Assignment>& assignments,
                          std::vector<std::pair<std::string, Value>>& values);
  void apply_builtin(const std::vector<Field>& words);
  void apply_set(const std::vector<Field>& words);
  void apply_shift(const std::vector<Field>& words);
  void apply_unset(const std::vector<Field>& words);
  void forget_read(const std::vector<Field>& words);
  void note_environment(const std::vector<Field>& words);
  bool apply_read(const std::vector<Field>& words, const Text& input);
  void apply_declaration(const std::vector<Field>& words);
  void emit(const Frame& frame, Span span, const std::vector<Field>& words);
  void note_gap(const SyntaxNode& node, Command& command);

  // look_through.cc: commands run by commands.
  void look_through(const std::vector<Field>& words, const Frame& frame, const Text& input,
                    bool in_shell);
  void follow(const Run& run, const Frame& frame, const Text& input, bool in_shell);
  void follow_words(const Run& run, const Frame& frame, const Frame& inner, const Text& input,
                    bool in_shell);
  void follow_text(const Run& run, const Frame& inner, const Text& input);
  void follow_here(const Run& run, const Frame& inner, const Text& input);
  void follow_file(const Run& run, const Frame& inner, const Text& input);
  void follow_source(const Run& run, const Frame& inner, const Text& input);
  // Where `is_later`, what the text assigns may change at any time from now on.
  void read_script(std::string_view text, Span span, const Frame& frame, const Text& input,
                   bool is_later = false);
  bool may_be_written(const Field& file);
  std::optional<std::vector<Field>> words_of_input(const Run& run, const Text& input);
  void add_unknown_text(Span span);
  void note_text(const Field& text);
  OutputContext output_context() const;

  // suppose.cc: what may also be run.
  template <typename Walk>
  void suppose(const Walk& walk);
  void suppose_command(const std::vector<Field>& words, const Frame& frame, const Text& input);
  // What an unquoted word that may be nothing leaves, from words[from] on.
  void suppose_rest(const std::vector<Field>& words, std::size_t from, const Frame& frame,
                    const Text& input);
  void suppose_operand(const std::vector<Field>& words, const Runs& runs, const Frame& frame,
                       const Text& input);
  // With each text that its first unknown variable is given anywhere.
  void suppose_values(const SyntaxNode& node, const Frame& frame, const Text& input);
  const std::string* unknown_variable(const std::vector<Part>& parts) const;
  // The body of a function with the words that it is called with.
  void suppose_call(const std::vector<Field>& words, const Frame& frame, const Text& input);

  // evaluated.cc: what is taken for a number or a name.
  std::string evaluate(const std::vector<Part>& parts, Span span);
  void expand_index(const std::string& array, const std::vector<Part>& index, Span span);
  void note_given(std::string_view text);  // NAME=value
  void note_parameter(const Parameter& parameter, const Value& value, bool is_known);
  void note_test(const std::vector<WordNode>& words);
  void note_argument(std::string_view program, const WordNode& word, bool is_first,
                     std::span<const Field> fields);
  // Where the names go of what is evaluated here.
  Names& evaluated(Span span);
  bool is_map(const std::string& array) const;
  void end_evaluated();

  // expand.cc: words.
  void expand_word(const WordNode& word, std::vector<Field>& fields);
  void add_word(const WordNode& word, std::vector<Field>& fields);
  Field expand_single(const WordNode& word);
  std::string expand_quoted(const std::vector<Part>& parts);
  Text substitute(const Part& part);
  void add_parts(const std::vector<Part>& parts, bool quoted, FieldBuilder& builder);
  void add_working_directory(const std::vector<Part>& parts, FieldBuilder& builder);
  void add_part(const Part& part, bool quoted, FieldBuilder& builder);
  struct OperationWord {
    std::string text;
    std::size_t slash = std::string::npos;  // an unquoted one; at the beginning it is of a pattern
  };
  void add_parameter(const Part& part, bool quoted, FieldBuilder& builder);
  OperationWord expand_operation_word(const Part& part, bool quoted);
  void note_indirect(const Parameter& parameter, const Value& value, bool is_known, Span span);
  void apply_parameter(const Parameter& parameter, const OperationWord& word, Value& value,
                       bool& is_known);
  void add_value(const Parameter& parameter, const Value& value, bool quoted,
                 FieldBuilder& builder) const;
  Value base_value(const Parameter& parameter, bool& is_known);

  void add_unknown(Span span, const char* what);
  bool spend(std::size_t work);

  Reading& reading_;
  const Tree* tree_ = nullptr;
  std::string_view script_;     // the text of another shell, or of eval, that is read
  std::size_t script_end_ = 0;  // of its last command so far; 0: none
  Scope scope_;
  Frame substitution_frame_;  // of commands in substitutions
  // Of a function, with the tree and the text that it stands in.
  struct Body {
    const SyntaxNode* node = nullptr;
    const Tree* tree = nullptr;
    std::string_view script;
    std::vector<std::string> own_names;  // that nothing before it made untrusted
    std::size_t tree_id = 0;
  };
  std::unordered_map<std::string, Body> bodies_;
  std::vector<std::size_t> trees_;  // of texts within the text that are being read
  std::size_t trees_made_ = 0;
  std::string_view whole_text_;
  std::optional<Span> whole_;  // of all that is read: that of a call, in the function's body
  std::size_t supposed_ = 0;   // how many suppositions there are around what is read
  std::size_t supposing_left_ = kSupposingWork;
  bool is_doubted_ = false;                    // it may be another of several texts that is run
  std::vector<std::string> turns_;             // variables of the `for` loops around what is read
  std::size_t hidden_ = 0;                     // how often something was not known
  std::unordered_set<std::string> functions_;  // names of all functions so far
  std::unordered_set<std::string> open_functions_;       // those whose body is being read
  Scope::Names used_up_;                                 // what functions that were called unset
  std::set<std::string> unset_names_;                    // by the body that is being read
  std::map<std::string, std::set<std::string>> unsets_;  // by each function that is called
  std::map<const Part*, Text>* substituted_ = nullptr;   // within one word with braces
  Names* names_ = nullptr;                               // those of what is being expanded
  bool are_given_ = false;              // those of the declaration that is read are in given_
  std::map<std::string, Names> given_;  // what each variable is given anywhere
  bool is_evaluating_ = false;          // something is evaluated, here first:
  Span evaluated_at_;
  std::uint32_t pipelines_ = 0;
  std::size_t conditions_ = 0;  // branches, loops and subshells around what is read
  std::size_t moves_ = 0;       // what may have changed this shell's directory or options so far
  int depth_ = 0;
  std::size_t work_left_ = kLeastWork;
  bool stopped_ = false;
};

}  // namespace sbx::shell
