// SPDX-License-Identifier: Apache-2.0
// Syntax: the tree of a shell text, as bash's grammar has it. Spans count in the text that was
// first given, also in the trees of texts found inside it. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shell/marks.h"
#include "shell/reading.h"

namespace sbx::shell {

struct Block;
struct Part;
struct Parameter;

struct WordNode {
  Span span;
  std::vector<Part> parts;
};

enum class PartKind : std::uint8_t {
  kLiteral,     // unquoted text
  kQuoted,      // '…', $'…', \c, text in "…": `text` as it stands for itself
  kDouble,      // "…": `parts`
  kParameter,   // $x ${x…}
  kCommand,     // $(…) `…`
  kArithmetic,  // $((…)) $[…]: `parts` hold the expansions inside
  kProcess,     // <(…) >(…)
};

struct Part {
  PartKind kind = PartKind::kLiteral;
  Span span;
  std::string text;
  std::vector<Part> parts;
  std::unique_ptr<Parameter> parameter;
  std::unique_ptr<Block> block;
};

struct Parameter {
  std::string name;
  bool is_length = false;    // ${#x}
  bool is_indirect = false;  // ${!x}
  bool has_subscript = false;
  std::string subscript;    // its text; "@", "*" or a number are understood
  std::vector<Part> index;  // its expansions
  std::string operation;    // "", ":-", "-", "=", "%", "//", ":", …
  std::vector<Part> word;   // what follows the operation
};

struct AssignmentNode {
  Span span;
  std::string name;
  bool appends = false;     // +=
  bool has_index = false;   // NAME[…]=
  bool is_array = false;    // NAME=(…)
  std::vector<Part> index;  // expansions of the index
  WordNode value;
  std::vector<WordNode> elements;
};

struct RedirectionNode {
  Span span;
  RedirectionKind kind = RedirectionKind::kRead;
  int fd = -1;
  std::string variable;      // {NAME}> {NAME[index]}>
  bool is_document = false;  // << <<-
  bool is_string = false;    // <<<
  WordNode target;
  std::size_t document = 0;  // index into Tree::documents
};

// In Tree::assigned: any name at all; one that may have any value from then on, whatever the text
// gives it elsewhere; and $1 and on.
inline constexpr const char* kEveryName = "*";
inline constexpr const char* kEveryNameAnew = "**";
inline constexpr const char* kPositional = "@";

// Names that a stretch of the text may assign: a range of Tree::assigned.
struct NameRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

enum class SyntaxKind : std::uint8_t {
  kSimple,
  kGroup,     // { blocks[0] }
  kSubshell,  // ( blocks[0] )
  kIf,        // blocks: condition, body, condition, body, …, [else]
  kLoop,      // while, until: condition, body
  kFor,       // for, select: name, words; blocks[0]
  kArithmeticFor,
  kCase,        // words[0]; blocks; `patterns`, only for the commands in them
  kFunction,    // name; children[0]
  kCoprocess,   // children[0]
  kArithmetic,  // ((…)): arithmetic
  kTest,        // [[…]]: words
};

struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::kSimple;
  Span span;
  Span inside;          // of a simple command, in the text that it was read from
  bool has_in = false;  // for x in …
  std::string name;
  Span name_span;
  std::vector<AssignmentNode> assignments;
  std::vector<WordNode> words;
  std::vector<WordNode> patterns;
  std::vector<Part> arithmetic;
  std::vector<RedirectionNode> redirections;
  std::vector<Block> blocks;
  std::vector<SyntaxNode> children;
  NameRange assigned;
};

struct Pipeline {
  Span span;
  std::vector<SyntaxNode> stages;
  bool is_negated = false;  // !
};

enum class Connective : std::uint8_t { kFirst, kAnd, kOr };

struct ChainLink {
  Connective connective = Connective::kFirst;
  Pipeline pipeline;
  NameRange assigned;
};

struct Chain {
  std::vector<ChainLink> links;
  bool in_background = false;
};

struct Block {
  std::vector<Chain> chains;
  NameRange assigned;
};

struct Tree {
  Block block;
  std::vector<std::vector<Part>> documents;  // bodies of here-documents
  std::vector<std::string> assigned;         // in the order of the text
  std::vector<Unknown> faults;               // what could not be read
};

}  // namespace sbx::shell
