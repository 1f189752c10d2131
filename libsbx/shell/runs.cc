// SPDX-License-Identifier: Apache-2.0
// Runs: what each program that runs others does with its words.
#include "shell/runs.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shell/arguments.h"
#include "shell/options.h"
#include "shell/parser.h"
#include "shell/run_parts.h"
#include "shell/runs_of_each.h"
#include "shell/sed_script.h"
#include "shell/wrappers.h"

namespace sbx::shell {
namespace {

Field part_of(const Field& word, std::string_view text) {
  Field field = word;
  field.text = text;
  return field;
}

bool is_assignment(const Field& word) {
  const std::size_t equals = word.text.find('=');
  return equals != std::string::npos && equals > 0;
}

// env -S: blanks, quotes and backslashes split the text.
void split_string(const Field& word, std::string_view text, Fields& out) {
  Field field;
  field.span = word.span;
  bool is_begun = false;
  char quote = 0;
  const auto finish = [&] {
    if (is_begun) out.push_back(field);
    field.text.clear();
    is_begun = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      finish();
    } else if (quote != 0 && c == quote) {  // a hole is a NUL
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      is_begun = true;
    } else if (c == '$' && quote != '\'' && i + 1 < text.size() && text[i + 1] == '{') {
      i = std::min(text.find('}', i), text.size());
      field.text += kHole;
      is_begun = true;
    } else if (c == '\\' && i + 1 < text.size() && quote != '\'') {
      ++i;
      if (text[i] == '_' && quote == 0) {
        finish();
      } else {
        field.text += text[i] == '_' ? ' ' : text[i];
        is_begun = true;
      }
    } else {
      field.text += c == kComponent ? kHole : c;
      is_begun = true;
    }
  }
  finish();
}

void add_env(const Fields& words, Runs& runs) {
  Options options(words, kEnvLetters, kEnvNames);
  Fields inner;
  while (const auto option = options.next()) {
    if ((option->name == "S" || option->name == "split-string") && option->value) {
      split_string(*option->value_word, *option->value, inner);
    }
  }
  std::size_t at = options.at();
  if (at < words.size() && words[at].text == "-") ++at;
  for (Field& word : tail(words, at)) inner.push_back(std::move(word));
  std::size_t first = 0;
  // What -S gives may hold options of its own.
  while (first < inner.size() &&
         (is_assignment(inner[first]) || inner[first].text.starts_with('-')))
    ++first;
  runs.unknown = options.unknown();
  add_words(runs, "env", tail(inner, first));
}

void add_wrapped(const Wrapper& wrapper, const Fields& all, Runs& runs) {
  const bool has_operand =
      wrapper.may_begin_with_operand && all.size() > 1 && !all[1].text.starts_with('-');
  const Fields words = tail(all, has_operand ? 1 : 0);
  Options options(words, wrapper.short_with_value, wrapper.long_with_value);
  while (const auto option = options.next()) {
    if (option->name.size() == 1 && wrapper.ends.find(option->name) != std::string_view::npos)
      return;
  }
  runs.unknown = options.unknown();
  std::size_t at = options.at() + static_cast<std::size_t>(wrapper.operands);
  while (wrapper.takes_assignments && at < words.size() && is_assignment(words[at])) ++at;
  add_words(runs, wrapper.name, tail(words, at));
}

void add_launched(const Launcher& launcher, const Fields& words, Runs& runs) {
  const auto read_options = [&](const Fields& from) {
    Options options(from, launcher.short_with_value, launcher.long_with_value);
    while (const auto option = options.next()) {
      if (is_listed(option->name, launcher.text_options) && option->value)
        add_text(runs, RunKind::kText, std::string(launcher.name) + " -c",
                 part_of(*option->value_word, *option->value));
    }
    runs.unknown.insert(runs.unknown.end(), options.unknown().begin(), options.unknown().end());
    return options.at();
  };
  std::size_t at = read_options(words);
  std::string_view verbs = launcher.verbs;
  const bool may_lack_verb = verbs.empty() || verbs.starts_with('?');
  if (verbs.starts_with('?')) verbs.remove_prefix(1);
  Fields rest = words;
  if (at < words.size() && is_listed(words[at].text, verbs)) {
    rest = tail(words, at);
    at = read_options(rest);
  } else if (!may_lack_verb) {
    return;
  }
  if (!runs.runs.empty()) return;  // a text
  at += static_cast<std::size_t>(launcher.operands);
  const auto is_dashes = [](const Field& word) { return word.text == "--"; };
  if (launcher.is_behind_dashes && (at == 0 || !is_dashes(rest[at - 1]))) {
    at = static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), is_dashes) - rest.begin());
  }
  // Options of its own behind its operands, to "--".
  while (at < rest.size() && rest[at].text.starts_with('-')) {
    if (is_dashes(rest[at++])) break;
  }
  if (at < rest.size()) add_words(runs, launcher.name, tail(rest, at));
}

void add_watch(const Fields& words, Runs& runs) {
  Options options(words, "nq", " interval equexit ");
  bool is_direct = false;
  while (const auto option = options.next())
    is_direct = is_direct || option->name == "x" || option->name == "exec";
  runs.unknown = options.unknown();
  if (options.at() >= words.size()) return;
  if (is_direct) return add_words(runs, "watch", tail(words, options.at()));
  add_text(runs, RunKind::kText, "watch", joined(words, options.at(), words.size()));
}

// tmux: commands of its own, between ";", some of which take a shell's text.
void add_tmux(const Fields& words, Runs& runs) {
  Options options(words, "cfLST", "");
  while (options.next()) {
  }
  runs.unknown = options.unknown();
  for (std::size_t at = options.at(); at < words.size(); ++at) {
    Fields command;
    for (; at < words.size() && words[at].text != ";"; ++at) command.push_back(words[at]);
    if (command.empty()) continue;
    const std::string& verb = command[0].text;
    if (verb == "send-keys" || verb == "send") {
      for (const Field& word : tail(command, 1)) {
        if (word.text.find(' ') != std::string::npos)
          add_text(runs, RunKind::kText, "tmux send-keys", word);
      }
    } else if (is_listed(verb,
                         "new-session new new-window neww split-window splitw respawn-pane "
                         "respawnp respawn-window respawnw run-shell run if-shell if "
                         "display-popup popup pipe-pane pipep")) {
      const bool has_flags = is_listed(verb,
                                       "new-session new new-window neww split-window splitw "
                                       "respawn-pane respawnp respawn-window respawnw");
      Options plain(command, has_flags ? "ceFlnpstxyfT" : "cdeshStTwxy", "");
      while (plain.next()) {
      }
      if (plain.at() < command.size())
        add_text(runs, RunKind::kText, "tmux", joined(command, plain.at(), command.size()));
    }
  }
}

void add_screen(const Fields& words, Runs& runs) {
  Options options(words, "cehpSstT", "");
  while (const auto option = options.next()) {
    if (is_listed(option->name, "r R x X Q ls list wipe v")) return;
  }
  runs.unknown = options.unknown();
  if (options.at() < words.size()) add_words(runs, "screen", tail(words, options.at()));
}

// tar's options that hold a shell's text.
void add_tar(const Fields& words, Runs& runs) {
  static constexpr std::string_view kTexts[] = {"--to-command",           "--checkpoint-action",
                                                "--use-compress-program", "--info-script",
                                                "--new-volume-script",    "--rsh-command"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (std::find(std::begin(kTexts), std::end(kTexts), name) == std::end(kTexts)) continue;
    const bool is_next = equals == std::string_view::npos;
    if (is_next && i + 1 >= words.size()) return;
    const Field& word = is_next ? words[++i] : words[i];
    std::string_view value = is_next ? std::string_view(word.text) : text.substr(equals + 1);
    if (name == "--checkpoint-action") {
      if (!value.starts_with("exec=")) continue;
      value.remove_prefix(5);
    }
    add_text(runs, RunKind::kText, "tar " + std::string(name), part_of(word, value));
  }
}

// nix develop, nix shell: what stands behind -c; nix-shell: texts.
void add_nix(const std::string& name, const Fields& words, Runs& runs) {
  const bool is_shell = name == "nix-shell";
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (is_shell && (text == "--run" || text == "--command")) {
      add_text(runs, RunKind::kText, "nix-shell " + text, words[++i]);
    } else if (!is_shell && (text == "-c" || text == "--command")) {
      return add_words(runs, "nix", tail(words, i + 1));
    }
  }
}

// Each operand is a text.
void add_texts(const std::string& name, const Fields& words, std::string_view short_with_value,
               std::string_view long_with_value, Runs& runs) {
  Options options(words, short_with_value, long_with_value);
  while (const auto option = options.next()) {
    if (is_listed(option->name, "p prepare s setup c cleanup conclude") && option->value &&
        name == "hyperfine") {
      add_text(runs, RunKind::kText, name, part_of(*option->value_word, *option->value));
    }
  }
  runs.unknown = options.unknown();
  for (const Field& word : tail(words, options.at())) {
    if (!word.text.starts_with('-')) add_text(runs, RunKind::kText, name, word);
  }
}

// su, runuser: -c TEXT anywhere; runuser -u USER PROGRAM.
void add_su(const std::string& name, const Fields& words, Runs& runs) {
  std::size_t from = 0;
  bool has_user = false;
  Fields rest = words;
  while (from < rest.size()) {
    rest.erase(rest.begin() + 1,
               rest.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(from, 1)));
    Options options(rest, "cCgGsTuw",
                    " command session-command group supp-group shell whitelist-environment user ");
    while (const auto option = options.next()) {
      if (option->name == "u" || option->name == "user") has_user = true;
      const bool is_text = option->name == "c" || option->name == "command" ||
                           option->name == "C" || option->name == "session-command";
      if (is_text && option->value)
        add_text(runs, RunKind::kText, name + " -c", part_of(*option->value_word, *option->value));
    }
    from = options.at();
    if (has_user && from < rest.size()) return add_words(runs, name, tail(rest, from));
    ++from;  // an operand; options may follow
  }
}

void add_script(const Fields& words, Runs& runs) {
  Options options(words, "cBEIoOTm",
                  " command echo log-in log-out log-io log-timing logging-format output-limit ");
  while (const auto option = options.next()) {
    if ((option->name == "c" || option->name == "command") && option->value) {
      add_text(runs, RunKind::kText, "script -c", part_of(*option->value_word, *option->value));
    }
  }
  // The options may also follow the file.
  Fields rest = tail(words, options.at());
  if (rest.size() > 1 && rest.size() < words.size()) add_script(rest, runs);
}

void add_flock(const Fields& words, Runs& runs) {
  Options options(words, "wEc", " timeout wait conflict-exit-code command ");
  while (options.next()) {
  }
  const std::size_t file = options.at();
  if (file + 1 >= words.size()) return;
  const std::string& next = words[file + 1].text;
  if (next == "-c" || next == "--command") {
    if (file + 2 < words.size()) add_text(runs, RunKind::kText, "flock -c", words[file + 2]);
    return;
  }
  add_words(runs, "flock", tail(words, file + (next == "--" ? 2 : 1)));
}

void add_shell(const std::string& name, const Fields& words, Runs& runs) {
  bool has_text = false;
  bool reads_input = false;
  std::size_t at = 1;
  while (at < words.size()) {
    const std::string& option = words[at].text;
    if (option == "--" || option == "-") {
      ++at;
      break;
    }
    if (words[at].splits && option.size() == 1 && option[0] == kHole && at + 1 < words.size()) {
      runs.unknown.push_back(words[at++].span);
      continue;
    }
    if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) break;
    ++at;
    if (option.starts_with("--")) {
      if (option == "--rcfile" || option == "--init-file" || option == "--emulate") ++at;
      continue;
    }
    std::size_t values = 0;
    for (const char letter : std::string_view(option).substr(1)) {
      if (letter == 'c' && option[0] == '-') has_text = true;
      if (letter == 's' && option[0] == '-') reads_input = true;
      if (letter == 'o' || letter == 'O') ++values;
    }
    at += values;
  }
  if (has_text) {
    if (at < words.size()) {
      add_text(runs, RunKind::kText, name + " -c", words[at], tail(words, at + 1));
    } else {
      runs.unknown.push_back(words.back().span);
    }
    return;
  }
  if (reads_input || at >= words.size()) return add_text(runs, RunKind::kInput, name, words[0]);
  add_text(runs, RunKind::kFile, name, words[at], tail(words, at + 1));
}

// git -c alias.NAME=TEXT NAME: words of git, or behind "!" a shell's text. The last one counts.
void add_alias(const Fields& words, std::size_t verb, Runs& runs) {
  const std::string alias = lower_case("alias." + words[verb].text + '=');
  for (std::size_t at = verb; --at > 1;) {
    if (lower_case(words[at].text.substr(0, alias.size())) != alias) continue;
    Field meaning = words[at];
    meaning.text.replace(0, alias.size(), "git ").append(" \"$@\"");
    if (meaning.text[4] == '!') meaning.text.erase(0, 5);
    return add_text(runs, RunKind::kText, "git alias", std::move(meaning), tail(words, verb));
  }
}

// git submodule foreach TEXT, git bisect run PROGRAM, git rebase -x TEXT.
void add_git(const Fields& words, Runs& runs) {
  Options options(words, "Cc", " git-dir work-tree namespace exec-path config-env ");
  while (options.next()) {
  }
  runs.unknown = options.unknown();
  const std::size_t verb = options.at();
  if (verb < words.size() && !words[verb].is_known()) runs.unknown.push_back(words[verb].span);
  if (verb < words.size()) add_alias(words, verb, runs);
  if (verb + 1 >= words.size()) return;
  const Fields rest = tail(words, verb);
  if (rest[0].text == "submodule") {
    std::size_t at = 1;
    while (at < rest.size() && rest[at].text.starts_with('-')) ++at;
    if (at >= rest.size() || rest[at].text != "foreach") return;
    for (++at; at < rest.size() && rest[at].text.starts_with('-');) ++at;
    if (at < rest.size())
      add_text(runs, RunKind::kText, "git submodule foreach", joined(rest, at, rest.size()));
  } else if (rest[0].text == "bisect" && rest[1].text == "run") {
    add_words(runs, "git bisect run", tail(rest, 2));
  } else if (rest[0].text == "rebase") {
    Options own(rest, "xsXC", " exec onto strategy strategy-option ");
    while (const auto option = own.next()) {
      if ((option->name == "x" || option->name == "exec") && option->value)
        add_text(runs, RunKind::kText, "git rebase -x",
                 part_of(*option->value_word, *option->value));
    }
  }
}

void add_sed(const Fields& words, Runs& runs) {
  Options options(words, "efl", " expression file line-length ");
  bool has_script = false;
  const auto add_texts = [&](const Field& word, std::string_view script) {
    for (const std::string& text : texts_run_by_sed(script)) {
      add_text(runs, RunKind::kText, "sed", part_of(word, text));
    }
  };
  while (const auto option = options.next()) {
    const bool is_script = option->name == "e" || option->name == "expression";
    has_script = has_script || is_script || option->name == "f" || option->name == "file";
    if (is_script && option->value) add_texts(*option->value_word, *option->value);
  }
  if (!has_script && options.at() < words.size()) {
    add_texts(words[options.at()], words[options.at()].text);
  }
}

bool is_shell(std::string_view name) {
  static constexpr std::string_view kShells[] = {"sh",   "bash", "dash", "zsh", "ksh",  "ksh93",
                                                 "mksh", "lksh", "oksh", "ash", "hush", "rbash",
                                                 "yash", "posh", "fish", "-sh", "-bash"};
  return std::find(std::begin(kShells), std::end(kShells), name) != std::end(kShells);
}

void add_others(const std::string& name, const Fields& words, Runs& runs) {
  if (is_shell(name)) {
    add_shell(name, words, runs);
  } else if (name == "env") {
    add_env(words, runs);
  } else if (name == "tmux") {
    add_tmux(words, runs);
  } else if (name == "screen") {
    add_screen(words, runs);
  } else if (name == "tar" || name == "gtar" || name == "bsdtar") {
    add_tar(words, runs);
  } else if (name == "nix" || name == "nix-shell") {
    add_nix(name, words, runs);
  } else if (name == "concurrently") {
    add_texts(name, words, "npct", " names prefix prefix-colors max-processes ", runs);
  } else if (name == "hyperfine") {
    add_texts(name, words, "wmMrpscSLPDntu",
              " warmup min-runs max-runs runs prepare setup cleanup conclude shell parameter-list "
              "parameter-scan style export-json export-csv export-markdown command-name time-unit "
              "output ",
              runs);
  } else if (name == "sed" || name == "gsed") {
    add_sed(words, runs);
  } else if (name == "git") {
    add_git(words, runs);
  } else if (name == "watch") {
    add_watch(words, runs);
  } else if (name == "su" || name == "runuser") {
    add_su(name, words, runs);
  } else if (name == "script") {
    add_script(words, runs);
  } else if (name == "flock") {
    add_flock(words, runs);
  } else if (name == "eval") {
    const std::size_t first = words.size() > 1 && words[1].text == "--" ? 2 : 1;
    if (first < words.size())
      add_text(runs, RunKind::kHere, name, joined(words, first, words.size()));
  } else if (name == "source" || name == ".") {
    const std::size_t first = words.size() > 1 && words[1].text == "--" ? 2 : 1;
    if (first < words.size())
      add_text(runs, RunKind::kSource, name, words[first], tail(words, first + 1));
  } else if (name == "alias") {
    for (const Field& word : tail(words, 1)) {
      const std::size_t equals = word.text.find('=');
      if (equals == word.text.npos) continue;
      add_text(runs, RunKind::kText, name, part_of(word, word.text.substr(equals + 1) + " \"$@\""));
      runs.runs.back().has_more_words = true;
    }
  } else if (name == "mapfile" || name == "readarray") {
    Options options(words, "dnOsuCc", "");
    while (const auto option = options.next()) {
      if (option->name == "C" && option->value)
        add_text(runs, RunKind::kLater, name + " -C", part_of(*option->value_word, *option->value));
    }
  } else if (name == "trap") {
    const bool has_dashes = words.size() > 1 && words[1].text == "--";
    const std::size_t first = has_dashes ? 2 : 1;
    if (first + 1 < words.size() && words[first].text != "-" &&
        (has_dashes || !words[first].text.starts_with('-'))) {
      add_text(runs, RunKind::kLater, name, words[first]);
    }
  } else if (const Launcher* launcher = find_launcher(name)) {
    add_launched(*launcher, words, runs);
  } else if (const Wrapper* wrapper = find_wrapper(name)) {
    add_wrapped(*wrapper, words, runs);
  }
}

}  // namespace

Runs find_runs(const std::vector<Field>& words, const std::optional<std::string>& input) {
  Runs runs;
  const auto program = words.empty() ? std::nullopt : program_name(words[0]);
  if (!program) return runs;
  const std::string name(*program);
  if (!add_runs_of_each(name, words, input, runs)) add_others(name, words, runs);
  for (Run& run : runs.runs) {
    if (run.kind == RunKind::kWords) run.text.span = words[0].span;
  }
  return runs;
}

}  // namespace sbx::shell
