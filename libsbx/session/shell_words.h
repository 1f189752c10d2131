// SPDX-License-Identifier: Apache-2.0
// What the session and a kept bash say to each other. The session writes words of bash, a NUL
// behind each, which the driver evaluates at its top level; the driver says when it is ready for
// the next one, where a call's output can be had, and how a call ended. Text only; what comes from
// the shell is hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sbx {

// In the shell: where its words come from, and where it says something.
inline constexpr int kShellWordsFd = 50;
inline constexpr int kShellSaysFd = 51;

// Typed at the prompt, it makes the shell take words again; what is half typed stays.
inline constexpr std::string_view kShellWakeKey = "\x1b[9901~";

// An interactive bash that reads no file at its start, and runs the driver before each prompt.
std::vector<std::string> kept_shell_argv(const std::string& profile_shell);

struct ShellCall {
  std::string command;
  std::vector<std::pair<std::string, std::string>> env;
  bool has_stdin = false;
  std::string cwd;  // empty: where the shell is
  bool merge = false;
  // What the call before left.
  int last_status = 0;
  std::string flags;
};

// Pipes for what the call writes, and reads: answered with ShellPipes.
std::string pipes_word(bool merge, bool has_stdin);
// The call itself, answered with ShellBegun, and with ShellEnd where nothing cuts it off.
std::string call_word(const ShellCall& call);
// Back to where the shell was before a call that had a cwd.
std::string return_word();
// The prompt is a person's, until the wake key.
std::string prompt_word(const std::string& flags);
std::string end_word();
// Each word but prompt_word() and end_word() goes with its number, counted from 1: ^C may take it,
// or some of it, from the shell, which then says that it is ready with the number before; said
// again, it is run once at most.
std::string numbered_word(int number, const std::string& word);
// Instead of the call, which has been cancelled.
std::string forget_pipes_word();

// The next word is awaited. After a call without ShellEnd, `status` is what it left.
struct ShellReady {
  int status = 0;
  int word = 0;       // the number of the last one that it has begun
  std::string flags;  // $-
};
struct ShellPipes {
  int out = -1;  // descriptors of the shell's, 0 for none
  int err = -1;
  int in = -1;
  std::string cwd;  // $PWD, whatever that is
};
struct ShellBegun {
  int word = 0;
};
struct ShellEnd {
  int status = 0;
  bool was_in_cwd = true;  // false: it has not run, since its directory cannot be entered
  int ran = 0;             // the number of the last word whose command has been run
};
using ShellMessage = std::variant<ShellReady, ShellPipes, ShellBegun, ShellEnd>;

// What stands before a NUL; nullopt for what the driver never says.
std::optional<ShellMessage> read_shell_message(std::string_view text);

// 'as one word'
std::string quote_for_shell(std::string_view text);

}  // namespace sbx
