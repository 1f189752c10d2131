// SPDX-License-Identifier: Apache-2.0
// A word is evaluated outside of every function, so that what it declares is the shell's own, and
// by bash's rules for texts, not for lines that are typed: nothing is said of background jobs. The
// backslashes keep aliases away.
#include "session/shell_words.h"

#include <algorithm>
#include <climits>
#include <initializer_list>

#include "base/ascii.h"
#include "base/text.h"

namespace sbx {
namespace {

// A word begins with it. What ^C has left of one does not, and is not run.
constexpr std::string_view kWord = "sbx word ";
constexpr std::string_view kPrompt = "sbx prompt";

// A function named builtin goes for good: where special builtins come before functions, it can be
// unset whatever else is defined.
constexpr std::string_view kFreeBuiltin =
    R"(__sbx_ok=; \builtin eval '[[ ${FUNCNAME-} ]] || __sbx_ok=1' >/dev/null 2>&1; )"
    R"([[ $__sbx_ok ]] || { POSIXLY_CORRECT=1; \unset -f builtin; \unset POSIXLY_CORRECT; )"
    R"(\builtin eval __sbx_ok=1; } >/dev/null 2>&1; )";

// What the driver has put away.
constexpr const char* kFunctions = R"(\builtin eval "${__sbx_functions-}"; __sbx_functions=)";
constexpr const char* kTraps = R"(\builtin eval "${__sbx_traps-}")";

// The loop is left by `break` only: by prompt_word(), or by a command that says so outside of a
// loop of its own. What is traced, trapped and exported is the command's text, not these words:
// what was so since is put away, and so are functions of two names that stand without
// `builtin`, which would open nothing, and hide variables of one command. Their texts are read
// again as they were read first: what has become an alias since is none there. A ^C may come
// between any two words, and goes on at PROMPT_COMMAND: one that a command has set is set anew, by
// what ends nothing where it is readonly. A read that TMOUT ends is begun again. TMOUT's own
// alarm, which bash sets before PROMPT_COMMAND and which would end the shell, is taken away by a
// read that has one of its own: from bash 5.2 on, in its POSIX mode. What is said begins with a
// NUL, as others may have said something before. A shell that has lost what these words need ends.
std::string driver() {
  return "while { __sbx_flags=$-; " + std::string(kFreeBuiltin) + R"(\builtin set +xvTa
[[ ! ${TMOUT-} ]] || POSIXLY_CORRECT=1 \builtin read -r -t 9 __sbx_rest <<<''
[[ $__sbx_flags != *a* ]] || \builtin export -n "${!__sbx_@}"
[[ ! ${__sbx_live-} ]] || { __sbx_traps=$(\builtin printf '\\builtin '; \builtin trap -p DEBUG
\builtin printf '\\builtin '; \builtin trap -p ERR)
__sbx_live=; \builtin trap - DEBUG ERR; }
if \builtin declare -F command || \builtin declare -F exec
then __sbx_functions='\builtin shopt -u expand_aliases
'$(\builtin declare -pf command exec
[[ $BASHOPTS != *expand_aliases* ]] || \builtin printf '\n\\builtin shopt -s expand_aliases')
\builtin unset -f command exec; fi
\builtin printf -v PROMPT_COMMAND %s "$__sbx_prompt"
} >/dev/null 2>&1
[[ $__sbx_ok ]]
do [[ ${__sbx_twice-} ]] || \builtin printf '\0ready %s %s %s\0' "$__sbx_status" \
"${__sbx_word_number:-0}" "$__sbx_flags" >&51 || \builtin exit "$__sbx_status"
__sbx_status=0 __sbx_twice=
IFS= \builtin read -r -d '' -u 50 __sbx_word || { (($?>128)) || \builtin exit
[[ $__sbx_word ]] || __sbx_twice=1; }
[[ $__sbx_word == 'sbx prompt'* ]] && \builtin break
[[ $__sbx_word != 'sbx word '* ]] || \builtin eval "${__sbx_word#sbx word }"
done
if [[ ! $__sbx_ok || ! ${__sbx_drive-} ]]; then POSIXLY_CORRECT=1; \exit "$__sbx_status"
elif [[ $__sbx_word == 'sbx prompt'* ]]
then { __sbx_live=1; )" +
         kFunctions + R"(; \builtin set "-h${__sbx_word#sbx prompt}"; )" + kTraps +
         R"(; } 2>/dev/null
else \builtin eval "$__sbx_drive"; fi)";
}

// What is sourced is a text, and what a key is bound to is a line that is typed. A text ends where
// a command says `return`, and is begun anew.
std::string begin() {
  const std::string free =
      "{ __sbx_status=$?; " + std::string(kFreeBuiltin) + "} >/dev/null 2>&1; ";
  return "__sbx_prompt=" + quote_for_shell(free + R"(\builtin eval "$__sbx_drive")") + "\n" +
         R"(__sbx_source='__sbx_word=; \builtin . /proc/self/fd/52 52<<<"$__sbx_drive"; __sbx_rest=$?
[[ $__sbx_word != "sbx word "* ]] || { __sbx_status=$__sbx_rest; \builtin eval "$__sbx_source"; }')" +
         "\n\\builtin bind -x " +
         quote_for_shell(R"("\e[9901~": )" + free + R"(\builtin eval "$__sbx_source")") +
         "\n__sbx_status=0 __sbx_word_number=0\n\\builtin eval \"$__sbx_drive\"";
}

// The end of a pipe that is read, at the shell's descriptor `to` (a number or `{variable}`), where
// `at` says which. A process substitution would change $!, but before bash 5.1 (and with its
// BASH_COMPAT) only that is a pipe.
std::string make_pipe(const std::string& to, const std::string& at) {
  return "{ \\exec " + to + "<<<''; } 2>/dev/null\nif [[ -p /proc/self/fd/" + at +
         " ]]; then \\builtin read -r -u " + at + " __sbx_rest\nelse \\exec " + to + "< <(:); fi\n";
}

// … and written at the same.
std::string make_own_pipe(int fd) {
  const std::string at = std::to_string(fd);
  return make_pipe(at, at) + "\\exec " + at + "<>/proc/self/fd/" + at + "\n";
}

std::optional<int> number(std::string_view text, int most) {
  const auto value = parse_count(text, most);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

bool are_flags(std::string_view text) {
  return text.size() < 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c); });
}

// Of what was traced, that which the driver took away.
std::string traced(const std::string& flags) {
  std::string out;
  for (const char flag : {'x', 'v', 'T', 'a'}) {
    if (flags.find(flag) != std::string::npos) out += flag;
  }
  return out;
}

// The shell's descriptors of a call, those that are open: one that ^C ended has left some.
std::string close_all(std::initializer_list<std::string_view> names) {
  std::string word;
  for (const std::string_view name : names) {
    const std::string variable = "__sbx_" + std::string(name);
    word += "[[ ! ${" + variable + "-} ]] || \\exec {" + variable + "}>&-\n" + variable + "=\n";
  }
  return word;
}

}  // namespace

std::string quote_for_shell(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += R"('\'')";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::vector<std::string> kept_shell_argv(const std::string& profile_shell) {
  const bool is_bash = profile_shell.ends_with("/bash") || profile_shell == "bash";
  const std::string bash = is_bash ? profile_shell : "/bin/bash";
  return {bash,
          "-c",
          R"(export PROMPT_COMMAND=$1 __sbx_drive=$2; exec "$0" --noprofile --norc -i)",
          bash,
          "\\builtin export -n PROMPT_COMMAND __sbx_drive\n" + make_own_pipe(kShellWordsFd) +
              make_own_pipe(kShellSaysFd) + begin(),
          driver()};
}

std::string pipes_word(bool merge, bool has_stdin) {
  // No prompt takes what has ended out of the table of jobs.
  std::string word =
      "\\builtin jobs >/dev/null 2>&1\n" + close_all({"in", "out", "err", "to", "too"});
  const auto make = [&word](const std::string& name) {
    word += make_pipe("{__sbx_" + name + "}", "\"$__sbx_" + name + "\"");
  };
  make("out");
  if (!merge) make("err");
  if (has_stdin) make("in");
  return word + R"(\builtin printf '\0pipes %s %s %s %s\0' "$__sbx_out" \
"${__sbx_err:-0}" "${__sbx_in:-0}" "${PWD-}" >&51)";
}

std::string call_word(const ShellCall& call) {
  std::string word = call.cwd.empty() ? "" : "__sbx_back=$PWD __sbx_old=${OLDPWD-}\n";
  word += R"(\builtin printf '\0begun %s\0' "$__sbx_word_number" >&51
\exec {__sbx_to}>/proc/self/fd/"$__sbx_out")";
  std::string redirects = R"( >&"$__sbx_to"-)";
  if (call.merge) {
    redirects += " 2>&1";
  } else {
    word += R"( {__sbx_too}>/proc/self/fd/"$__sbx_err")";
    redirects += R"( 2>&"$__sbx_too"-)";
  }
  redirects += call.has_stdin ? R"( <&"$__sbx_in"-)" : " </dev/null";
  // No trap is set yet when the eval begins, so that none is run for it; `&&` keeps a shell with -e
  // alive. Neither `$()` nor, unless -T says so, `()` is trapped, and only `()` is a job. What is
  // assigned after `set -a` would be exported.
  std::string text =
      "{ __sbx_live=1 __sbx_ran=$__sbx_word_number; " + std::string(kFunctions) + "; ";
  if (const std::string flags = traced(call.flags); !flags.empty()) {
    text += "\\builtin set -" + flags + "; ";
  }
  if (call.last_status == 0) {
    text += kTraps;
  } else {
    const std::string left = "(\\builtin exit " + std::to_string(call.last_status) + ") && [[ 1 ]]";
    text += "if [[ ${__sbx_traps-} != *trap* ]]; then $" + left + "; else " + kTraps + "; " + left +
            "; fi";
  }
  // A line of its own: it has been run where the command cannot be read.
  text += "; } >/dev/null 2>&1\n" + call.command;
  std::string run;
  for (const auto& [name, value] : call.env) run += name + "=" + quote_for_shell(value) + " ";
  run += (call.env.empty() ? "\\builtin eval " : "\\command \\eval ") + quote_for_shell(text);
  const std::string end = R"(__sbx_status=$?
\builtin printf '\0end %s %s\0' "$__sbx_status" "${__sbx_ran:-0}" >&51)";
  run = "{ " + run + "; }" + redirects + " 50<&- 51>&- 52<&-\n" + end;
  if (!call.cwd.empty()) {
    run = "if \\builtin cd -- " + quote_for_shell(call.cwd) + " >/dev/null 2>&1; then " + run +
          R"(; else \builtin printf '\0nowhere 1\0' >&51; fi)";
  }
  return word + "\n" + close_all({"out", "err"}) + run + "\n" + close_all({"in", "to", "too"});
}

std::string forget_pipes_word() { return close_all({"in", "out", "err"}); }

// Where that has been removed, to what is left above it.
std::string return_word() {
  return R"({ until \builtin cd -- "${__sbx_back:-/}" || [[ $__sbx_back != */* ]]
do __sbx_back=${__sbx_back%/*}; done
if [[ $__sbx_old ]]; then OLDPWD=$__sbx_old; else \builtin unset OLDPWD; fi; } >/dev/null 2>&1)";
}

std::string prompt_word(const std::string& flags) {
  const std::string more = traced(flags);
  return std::string(kPrompt) + more;
}

std::string numbered_word(int number, const std::string& word) {
  const std::string digits = std::to_string(number);
  return std::string(kWord) + "if ((" + digits +
         ">__sbx_word_number)); then __sbx_word_number=" + digits + "\n" + word +
         "\nelse __sbx_twice=1; fi";
}

std::string end_word() { return std::string(kWord) + "\\builtin exit"; }

std::optional<ShellMessage> read_shell_message(std::string_view text) {
  const auto take = [&text] {
    const std::size_t at = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return word;
  };
  constexpr int kMostStatus = 255;
  constexpr int kMostFd = 1 << 20;
  const std::string_view kind = take();
  const int most = kind == "pipes" ? kMostFd : (kind == "begun" ? INT_MAX : kMostStatus);
  const std::optional<int> first = number(take(), most);
  if (!first) return std::nullopt;
  if (kind == "begun" && text.empty()) return ShellBegun{*first};
  if (kind == "nowhere" && text.empty()) return ShellEnd{*first, false};
  if (kind != "pipes" && kind != "ready" && kind != "end") return std::nullopt;
  const std::optional<int> second = number(take(), kind == "pipes" ? kMostFd : INT_MAX);
  if (!second) return std::nullopt;
  if (kind == "end" && text.empty()) return ShellEnd{*first, true, *second};
  if (kind == "end") return std::nullopt;
  if (kind == "ready") {
    if (!are_flags(text)) return std::nullopt;
    return ShellReady{*first, *second, std::string(text)};
  }
  const std::optional<int> third = number(take(), kMostFd);
  if (!third) return std::nullopt;
  return ShellPipes{*first, *second, *third, std::string(text)};
}

}  // namespace sbx
