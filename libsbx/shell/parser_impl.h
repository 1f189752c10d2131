// SPDX-License-Identifier: Apache-2.0
// The parser's own state and steps; parser.cc holds commands, parse_words.cc words and expansions,
// parse_redirections.cc redirections and here-documents.
#pragma once

#include "shell/parser.h"

namespace sbx::shell {

bool is_blank(char c);
bool is_meta(char c);  // ends an unquoted word
bool is_name_start(char c);
bool is_name_char(char c);

class Parser {
 public:
  Parser(const Source& source, int depth, Tree& tree)
      : source_(source),
        text_(source.text),
        limit_(source.text.size()),
        depth_(depth),
        lookahead_left_(4 * source.text.size() + 65536),
        tree_(tree) {}

  void parse_all(Block& block);

 private:
  // Where a run of word parts ends, and what is special in it.
  enum class Stop {
    kWord,         // at a metacharacter
    kBrace,        // at } ; in ${x:-…}
    kBraceDouble,  // the same inside double quotes
    kDouble,       // at "
    kDocument,     // at the limit; here-documents and arithmetic
    kSubscript,    // at the ] that closes
    kRegex,        // at a blank outside parentheses; after =~
    kGlob,         // at the ) that closes; in @(…)
  };
  struct Pending {
    std::size_t document = 0;
    std::string delimiter;
    bool is_quoted = false;
    bool strips_tabs = false;
  };
  struct Reserved {
    std::string_view word;  // empty: none
    std::size_t end = 0;
  };
  class Deeper {
   public:
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth) parser_.fail_for_good("it is nested too deeply");
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Parser& parser_;
  };

  // Scanning.
  bool at_end() const { return pos_ >= limit_; }
  bool is_at(char c) const { return pos_ < limit_ && text_[pos_] == c; }
  char peek(std::size_t offset) const;  // kHole beyond the end
  std::size_t past_continuations(std::size_t pos) const;
  void skip_continuations() { pos_ = past_continuations(pos_); }
  bool take(char c);  // also behind line continuations
  bool next_is(char first, char second) const;
  void skip_blanks();    // and comments
  void skip_newlines();  // and blanks; reads here-documents
  void fail(const char* what);
  void fail_for_good(const char* what);
  NameRange names_since(std::size_t begin) const { return {begin, tree_.assigned.size()}; }
  Reserved reserved() const;
  bool take_reserved(std::string_view word);
  void expect_reserved(std::string_view word);
  void expect(char c, const char* what);

  // Commands.
  void parse_block(Block& block);
  bool at_block_end() const;
  void parse_chain(Chain& chain);
  void parse_pipeline(Pipeline& pipeline);
  void take_time();
  void parse_command(SyntaxNode& node);
  bool parse_compound(SyntaxNode& node, std::string_view word);
  void parse_parenthesis(SyntaxNode& node);
  void parse_if(SyntaxNode& node);
  void parse_for(SyntaxNode& node);
  void parse_loop_body(SyntaxNode& node);
  void parse_case(SyntaxNode& node);
  void parse_function(SyntaxNode& node);
  void parse_function_body(SyntaxNode& node);
  void parse_coprocess(SyntaxNode& node);
  void parse_test(SyntaxNode& node);
  bool take_reserved_test_end();
  void parse_simple(SyntaxNode& node);
  bool parse_operand(SyntaxNode& node, bool is_declaration);
  bool parse_assignment(SyntaxNode& node);
  void parse_array(AssignmentNode& assignment);
  void note_assigned(const SyntaxNode& node);
  void note_arithmetic(std::size_t begin, std::size_t end);

  // Redirections.
  bool parse_redirection(std::vector<RedirectionNode>& redirections);
  bool parse_operator(RedirectionNode& redirection, bool& strips_tabs);
  void parse_target(RedirectionNode& redirection, bool strips_tabs);
  void parse_delimiter(Pending& pending);
  void read_documents();
  void read_document(const Pending& pending);
  void parse_document(const Pending& pending, std::size_t begin, std::size_t end);

  // Words.
  void parse_word(WordNode& word, Stop stop = Stop::kWord);
  void parse_parts(Stop stop, std::vector<Part>& parts);
  bool stops_at(Stop stop, char c, int nesting) const;
  void add_text(std::vector<Part>& parts, PartKind kind, std::size_t begin, std::string_view text);
  Part& add_part(std::vector<Part>& parts, PartKind kind, std::size_t begin);
  void end_part(std::vector<Part>& parts, std::size_t begin);
  void parse_escape(Stop stop, std::vector<Part>& parts);
  void parse_single_quotes(std::vector<Part>& parts);
  void parse_ansi_c(std::vector<Part>& parts);
  void parse_double_quotes(std::vector<Part>& parts);
  void parse_glob_group(std::vector<Part>& parts);
  void parse_process(std::vector<Part>& parts);
  void parse_dollar(Stop stop, std::vector<Part>& parts);
  void parse_substitution(Part& part);
  void parse_backquotes(bool in_double, std::vector<Part>& parts);
  void parse_braced(Part& part, bool in_double);
  void parse_parameter(Parameter& parameter, bool in_double);
  void parse_range(Stop stop, std::size_t end, std::vector<Part>& parts);
  std::size_t arithmetic_end(std::size_t begin);
  std::size_t subscript_end(std::size_t begin) const;

  const Source& source_;
  std::string_view text_;
  std::size_t limit_;
  std::size_t pos_ = 0;
  int depth_;
  std::size_t lookahead_left_;
  int substitutions_ = 0;  // $( … that are open: their ) also ends a here-document
  bool strips_tabs_ = false;
  bool failed_ = false;
  bool failed_for_good_ = false;
  std::vector<Pending> pending_;
  Tree& tree_;
};

}  // namespace sbx::shell
