// SPDX-License-Identifier: Apache-2.0
// Reading: what a shell command line would run, as far as its text tells: the simple commands in
// every command position with their words, assignments and redirections, those run by other
// commands, and what cannot be known. Values only; linear time, bounded depth.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"

namespace sbx::shell {

// One word after quotes are removed and plainly constant variables are put in.
struct Word {
  Span span;
  // The value. Where `known` is false, it is what could be made out, each unknown part left out.
  std::string text;
  // Where it is not known, but all that it can be is bounded: the text with marks (shell/marks.h).
  std::string shape;
  bool known = true;       // false: a part is made at run time ($1, $(date), an unset variable)
  bool has_glob = false;   // an unquoted * ? or [ ; `text` holds the pattern
  bool has_tilde = false;  // begins with an unquoted ~, which the shell makes a home directory
  bool splits = false;     // an unknown part stands unquoted: it may become several words or none
};

struct Assignment {
  Span span;
  std::string name;
  Word value;
};

enum class RedirectionKind : std::uint8_t {
  kRead,       // <  <>
  kTruncate,   // >  >|  &>  >&FILE
  kAppend,     // >> &>>
  kDuplicate,  // >&N <&N >&-
  kHere,       // << <<- <<<
};

struct Redirection {
  Span span;
  RedirectionKind kind = RedirectionKind::kRead;
  int fd = -1;  // -1: both (&>)
  Word target;  // of kHere: the delimiter, or the word of <<<
};

// One simple command. `words` is empty where there are only assignments or redirections.
struct Command {
  Span span;
  std::vector<Assignment> assignments;
  std::vector<Word> words;  // words[0] names the program
  std::vector<Redirection> redirections;
  // Names of the commands that run this one, outermost first: {"env", "xargs"}, {"bash -c"},
  // {"find -exec"}, {"eval"}; empty for one that the shell itself runs.
  std::vector<std::string> via;
  // More arguments follow that only the run knows (xargs, find -exec with {}): the words are a
  // beginning.
  bool has_more_words = false;
  // Of one in a text that another command runs, which is a single word: what stands there between
  // the command before it and it.
  std::string gap;
  std::uint32_t pipeline = 0;  // commands of one pipeline share this
  std::uint32_t stage = 0;     // position in it, from 0
  std::uint32_t stages = 1;    // how many stages the pipeline has
  std::int32_t function = -1;  // index into Reading::functions whose body holds it; -1: none
  bool in_background = false;
  // It may also be run, beside what stands in the text: what an unknown word in front of it leaves
  // where that is nothing, what a variable may be, what a function does with the words it is given.
  bool is_supposed = false;
  bool is_doubted = false;  // and it may be another of several that is run
};

struct Function {
  Span span;  // of the name
  std::string name;
};

// What the text does not tell.
struct Unknown {
  Span span;
  std::string what;  // "the program's name is made at run time"
};

enum class RegionKind : std::uint8_t {
  kBranch,     // may not run: of an if, of a function
  kThen,       // a branch that runs only where all of its condition went well
  kNext,       // runs only where all before it in its list went well: behind &&
  kOtherwise,  // runs only where some of that did not: behind ||
  kNegated,    // fails where it goes well
  kLoop,       // may not run, or run again
  kChild,      // in a process of its own: a subshell, a substitution
};

// Commands [begin, end) of a reading.
struct Region {
  RegionKind kind = RegionKind::kBranch;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool leaves = false;  // what stands behind it is not reached from it
};

struct Reading {
  std::vector<Command> commands;  // in the order of the text; those run by others follow theirs
  std::vector<Function> functions;
  // That may change the working directory, or a shell's options; the outer before the inner.
  std::vector<Region> regions;
  std::vector<Unknown> unknown;
  // Where the shell is told to run what no command here shows: a file that it reads in by `source`,
  // another program or text by a known name (alias, hash -p).
  std::vector<Span> unshown;
  std::vector<Span> read_in;  // those of them that are files whose names are known
  bool complete = true;  // false: syntax that could not be read, or a bound reached; see `unknown`
};

// The text of `bash -c` or `sh -c`. At most 1 MiB is read, beyond it `complete` is false. Never
// fails: what cannot be read is in `unknown`. Thread-safe.
// `environment`: what it begins with beside what any shell has.
Reading read_shell(std::string_view text,
                   const std::map<std::string, std::string>& environment = {});

// A program with its arguments, without a shell: one command, and those that it runs. Spans count
// in the arguments joined by single spaces.
Reading read_argv(const std::vector<std::string>& argv,
                  const std::map<std::string, std::string>& environment = {});

}  // namespace sbx::shell
