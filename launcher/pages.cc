// SPDX-License-Identifier: Apache-2.0
// Rows → lines of shell and of mdoc(7), and the pages of the verbs. What does not vary with them
// stands in completions/*.in and docs/man/sbx-run.1.in, and is put around them by
// cmake/pages.cmake.
#include "pages.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "flag_table.h"
#include "verb_table.h"

namespace sbx {
namespace {

// How each shell completes a kind of value.
struct Completer {
  ValueKind kind;
  const char* bash;  // a case of _sbx_run_complete
  const char* zsh;   // an action of _arguments
  const char* fish;  // the options of `complete`
};
using enum ValueKind;
constexpr Completer kFiles = {kFile, "files", "_files", "-r"};
constexpr Completer kCompleters[] = {
    kFiles,
    {kNewFile, kFiles.bash, kFiles.zsh, kFiles.fish},
    {kPath, kFiles.bash, kFiles.zsh, kFiles.fish},
    {kDirectory, "directories", "_directories", "-x -a '(__fish_complete_directories)'"},
    {kWorkspace, "directories", "_directories", "-x -a '(__fish_complete_directories)'"},
    {kProfile, "profiles", "_sbx_run_profiles", "-r -a '(__sbx_run_profiles)'"},
    {kLayerName, "layers", "_sbx_run_layers", "-x -a '(__sbx_run_layers)'"},
    {kVariable, "variables", "_parameters", "-x -a '(set -nx)'"},
    {kHost, "hosts", "_hosts", "-x -a '(__fish_print_hostnames)'"},
    {kProcess, "processes", "_pids", "-x -a '(__fish_complete_pids)'"},
    {kCommandLine, "text", "_cmdstring", "-x"},
};

const Completer* completer(ValueKind kind) {
  const auto* const found = std::find_if(std::begin(kCompleters), std::end(kCompleters),
                                         [&](const Completer& one) { return one.kind == kind; });
  return found == std::end(kCompleters) ? nullptr : found;
}

std::string spaced_names(ValueKind kind) {
  std::string names = value_names(kind);
  std::erase(names, ',');
  return names;
}

// With a backslash before each of `marks`.
std::string escaped(std::string_view text, std::string_view marks) {
  std::string out;
  for (const char c : text) {
    if (marks.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool takes(const Verb& verb, const FlagRow& flag) { return (flag.verbs & verb_bit(verb)) != 0; }
bool is_list(const FlagRow& flag) {
  return std::holds_alternative<std::vector<std::string> RunOptions::*>(flag.member);
}

// Each option that takes a value, once.
std::vector<FlagRow> valued_flags() {
  std::vector<FlagRow> found;
  for (const FlagRow& flag : flag_rows()) {
    const auto is_same = [&](const FlagRow& one) {
      return std::string_view(one.name) == flag.name;
    };
    if (!flag.is_switch() && std::none_of(found.begin(), found.end(), is_same))
      found.push_back(flag);
  }
  return found;
}

// --- bash

std::string bash_value(ValueKind kind) {
  const Completer* const known = completer(kind);
  if (known != nullptr) return known->bash;
  const std::string names = spaced_names(kind);
  return names.empty() ? "text" : "names " + names;
}

// --- zsh

std::string zsh_action(ValueKind kind) {
  const Completer* const known = completer(kind);
  if (known != nullptr) return known->zsh;
  const std::string names = spaced_names(kind);
  if (kind == kLayers) return "_values -s , layer " + names;
  return names.empty() ? "" : "(" + names + ")";
}

std::string zsh_flag(const FlagRow& flag) {
  constexpr std::string_view kMarks = "[]:";
  std::string text =
      std::string(is_list(flag) ? "*" : "") + flag.name + "[" + escaped(flag.help, kMarks) + "]";
  if (!flag.is_switch()) {
    text += ":" + escaped(lower_case(flag.placeholder), kMarks) + ":" + zsh_action(flag.kind);
  }
  return shell_quoted(text);
}

// --- fish

std::string fish_value(ValueKind kind) {
  const Completer* const known = completer(kind);
  if (known != nullptr) return known->fish;
  const std::string names = spaced_names(kind);
  return names.empty() ? "-x" : "-x -a " + shell_quoted(names);
}

std::string fish_name(const char* flag) {
  return flag[1] == '-' ? " -l " + std::string(flag + 2) : " -s " + std::string(flag + 1);
}

// Where one of these verbs stands; the first is meant where none does.
std::string fish_condition(VerbBits verbs) {
  std::string names;
  for (const Verb& verb : kVerbs) {
    if ((verbs & verb_bit(verb)) != 0) (names += ' ') += verb.name;
  }
  const bool is_default = (verbs & verb_bit(kVerbs[0])) != 0;
  return "'__fish_seen_subcommand_from" + names + (is_default ? "; or __sbx_run_no_verb'" : "'");
}

// --- mdoc

// A token that is an option, with what is written behind it.
std::string fl(std::string_view token) {
  const std::size_t end = std::min(token.find_first_of(".,;:)"), token.size());
  std::string line = ".Fl -" + std::string(token.substr(2, end - 2));
  for (const char mark : token.substr(end)) (line += ' ') += mark;
  return line;
}

// Sentences of the table as lines of text and of macros.
std::string mdoc(std::string_view text) {
  if (text.empty()) return "";
  std::string out;
  bool in_line = false;
  for (const std::string_view token : split(text, ' ')) {
    if (token.starts_with("--")) {
      out += (in_line ? "\n" : "") + fl(token) + "\n";
      in_line = false;
      continue;
    }
    // A line that begins with a dot or a quote would be a macro.
    if (in_line) out += ' ';
    if (!in_line && (token.starts_with('.') || token.starts_with('\''))) out += "\\&";
    for (const char c : token) out += c == '\\' ? "\\e" : std::string(1, c);
    // New sentence, new line.
    in_line = !token.ends_with('.');
    if (!in_line) out += '\n';
  }
  return in_line ? out + "\n" : out;
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return mdoc(text + ".");
}

std::string words_of(const Verb& verb) {
  std::string text;
  for (const VerbWord& word : verb.words) {
    if (word.name == nullptr) continue;
    text += word.is_required ? " Ar " : " Op Ar ";
    text += word.name;
  }
  if (verb.more_words.name != nullptr)
    text += std::string(" Op Ar ") + verb.more_words.name + " ...";
  return text;
}

}  // namespace

std::string bash_completion() {
  std::string verbs;
  std::string flags;
  std::string words;
  for (const Verb& verb : kVerbs) {
    if (verb.summary == nullptr) continue;
    (verbs += verbs.empty() ? "" : " ") += verb.name;
    std::string names;
    for (const FlagRow& flag : flag_rows()) {
      if (takes(verb, flag)) (names += flag.name) += ' ';
    }
    flags += "    " + std::string(verb.name) + ") echo " + shell_quoted(names + "--help") + " ;;\n";
    int at = 0;
    for (const VerbWord& word : verb.words) {
      ++at;
      if (word.name == nullptr) continue;
      words += "    " + shell_quoted(std::string(verb.name) + " " + std::to_string(at)) +
               ") echo " + shell_quoted(bash_value(word.kind)) + " ;;\n";
    }
  }
  std::string values;
  for (const FlagRow& flag : valued_flags()) {
    values +=
        "    " + std::string(flag.name) + ") echo " + shell_quoted(bash_value(flag.kind)) + " ;;\n";
  }
  return "_sbx_run_verbs=" + shell_quoted(verbs) + "\n_sbx_run_flags() {\n  case $1 in\n" + flags +
         "  esac\n}\n_sbx_run_words() {\n  case $1 in\n" + words +
         "  esac\n}\n_sbx_run_values() {\n  case $1 in\n" + values + "  esac\n}\n";
}

std::string zsh_completion() {
  std::string verbs = "_sbx_run_verbs=(\n";
  std::string cases = "_sbx_run_specs() {\n  case $1 in\n";
  for (const Verb& verb : kVerbs) {
    if (verb.summary == nullptr) continue;
    verbs += "  " + shell_quoted(std::string(verb.name) + ":" + verb.summary) + "\n";
    cases += "    " + std::string(verb.name) + ") specs=(\n";
    for (const FlagRow& flag : flag_rows()) {
      if (takes(verb, flag)) cases += "      " + zsh_flag(flag) + "\n";
    }
    int at = 1;
    for (const VerbWord& word : verb.words) {
      ++at;
      if (word.name == nullptr) continue;
      cases += "      " +
               shell_quoted(std::to_string(at) + ":" + word.name + ":" + zsh_action(word.kind)) +
               "\n";
    }
    cases += "    ) ;;\n";
  }
  return verbs + ")\n" + cases + "  esac\n}\n";
}

std::string fish_completion() {
  std::string verbs;
  std::string lines;
  for (const Verb& verb : kVerbs) {
    if (verb.summary == nullptr) continue;
    (verbs += ' ') += verb.name;
    lines += "complete -c sbx-run -n __sbx_run_no_verb -f -a " + std::string(verb.name) + " -d " +
             shell_quoted(verb.summary) + "\n";
    int at = 0;
    for (const VerbWord& word : verb.words) {
      ++at;
      if (word.name == nullptr || word.kind == kText) continue;
      lines += "complete -c sbx-run -n '__sbx_run_word " + std::string(verb.name) + " " +
               std::to_string(at) + "' " + fish_value(word.kind) + "\n";
    }
  }
  for (const FlagRow& flag : flag_rows()) {
    lines += "complete -c sbx-run -n " + fish_condition(flag.verbs) + fish_name(flag.name);
    if (!flag.is_switch()) lines += " " + fish_value(flag.kind);
    lines += " -d " + shell_quoted(flag.help) + "\n";
  }
  std::string valued;
  for (const FlagRow& flag : valued_flags()) (valued += ' ') += flag.name;
  return "set -g __sbx_run_verbs" + verbs + "\nset -g __sbx_run_valued" + valued + "\n" + lines;
}

namespace {

std::string synopsis_of(const Verb& verb) {
  std::string text = ".Nm sbx-run\n";
  text +=
      &verb == kVerbs ? ".Op Cm run\n" : ".Cm " + std::string(verb.name) + words_of(verb) + "\n";
  text += ".Op Ar options\n";
  if (verb.no_program == nullptr) text += ".Fl - Ar program Oo Ar arg ... Oc | Fl c Ar command\n";
  return text;
}

std::string names_of_words(const Verb& verb) {
  std::string text;
  for (const VerbWord& word : verb.words) {
    const std::string names = word.name == nullptr ? "" : value_names(word.kind);
    if (!names.empty()) text += ".Ar " + std::string(word.name) + "\nis one of\n" + names + ".\n";
  }
  return text;
}

std::string option_of(const FlagRow& flag) {
  const bool is_long = flag.name[1] == '-';
  std::string text =
      std::string(".It Fl ") + (is_long ? "-" : "") + (flag.name + (is_long ? 2 : 1));
  if (!flag.is_switch()) text += " Ar " + lower_case(flag.placeholder);
  return text + "\n" + sentence(whole_help(flag.help, flag.kind)) + mdoc(flag.more);
}

}  // namespace

std::string man_synopsis() {
  std::string text;
  for (const Verb& verb : kVerbs) {
    if (verb.summary != nullptr) text += synopsis_of(verb);
  }
  return text;
}

std::string man_verbs() {
  std::string text;
  for (const Verb& verb : kVerbs) {
    if (verb.summary == nullptr) continue;
    text += ".It Cm " + std::string(verb.name) + words_of(verb) + "\n" + sentence(verb.summary);
    text += names_of_words(verb) + mdoc(verb.more);
  }
  return text;
}

std::string man_options() {
  std::string text;
  for (const FlagRow& flag : flag_rows()) {
    text += option_of(flag) + ".No (" + verbs_text(flag.verbs) + ")\n";
  }
  return text;
}

std::string man_see_also() {
  std::vector<std::string> lines;
  for (const Verb& verb : kVerbs) {
    if (verb.summary != nullptr)
      lines.push_back(".Xr sbx-run-" + std::string(verb.name) + " 1 ,\n");
  }
  std::sort(lines.begin(), lines.end());
  return join(lines, "");
}

std::string man_page(const Verb& verb) {
  const std::string name = verb.name;
  std::string title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string options;
  for (const FlagRow& flag : flag_rows()) {
    if (takes(verb, flag)) options += option_of(flag);
  }
  std::string text =
      ".\\\" SPDX-License-Identifier: Apache-2.0\n.Dd November 22, 2026\n.Dt SBX-RUN-" + title +
      " 1\n.Os\n.Sh NAME\n.Nm sbx-run-" + name + "\n.Nd " + verb.summary + "\n.Sh SYNOPSIS\n" +
      synopsis_of(verb) + ".Sh DESCRIPTION\n" + sentence(verb.summary) + names_of_words(verb) +
      mdoc(verb.more);
  if (!options.empty()) {
    text += ".Pp\nDurations and sizes are written as in\n.Xr sbx-run 1 .\n.Bl -tag -width Ds\n" +
            options + ".El\n";
  }
  text += ".Sh EXIT STATUS\nAs in\n.Xr sbx-run 1 .\n.Sh EXAMPLES\n.Dl " +
          escaped(verb.example, "\\") + "\n.Sh SEE ALSO\n.Xr sbx-run 1 ,\n.Xr sbx-profile 5\n";
  return text;
}

}  // namespace sbx
