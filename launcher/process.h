// SPDX-License-Identifier: Apache-2.0
// What the launcher does to its own process before and around a run: standard descriptors,
// signals, the environment, the owner, and writing the answer out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "model/outcome.h"
#include "policy/environment.h"

namespace sbx {

struct PersonSaid;

// Opens /dev/null on closed standard descriptors, so that nothing else lands there; for reading
// only where stdout was closed. Restores SIGCHLD, ignores SIGPIPE, raises the soft limit of open
// files to the hard one. Whether stdin was closed.
bool prepare_process();

// The environment as a map; later duplicates win.
Environment read_environment(char** environ_block);

// Blocks INT, QUIT, TERM, HUP (those not ignored by the caller) and, with a terminal, WINCH.
// Errors: kSetupFailed.
Result<OwnedFd> signal_descriptor(bool with_terminal);

// A pidfd of the process to end with: `text` a pid, "0" for none, empty for the caller.
// Errors: kBadFlag; kCancelled when the caller has ended already; kSetupFailed.
Result<OwnedFd> owner_descriptor(const std::string& text);
// Whether it is alive, where there is one. Errors: kCancelled.
Status check_owner(const OwnedFd& owner);

// As much of it as is taken within a second: for what nobody has to wait for.
void write_what_is_taken(int fd, std::string_view text);

// As write_all() of base/files.h, but a reader that never reads does not make us deaf: 0 when it
// was written whole, -1 when it could not be, else the number of the signal that came over
// `signal_fd` meanwhile.
int write_answer(int fd, std::string_view text, int signal_fd);

// Executes another program of this installation; the first word is its name. Comes back only with
// what kept it from that.
Error become_companion(std::vector<std::string> words);

// Asks the person at the terminal (stdin and stderr) about a command. What is typed behind the
// question is the answer; a signal is taken from `signal_fd`.
PersonSaid ask_at_terminal(const std::string& command, const Approval& approval, int signal_fd);

// "sbx-run: CODE: message (hint)" on stderr.
void complain(const Error& error);

// Says so of the answer. The exit status.
int stdout_unwritable();
// All of it on stdout. The exit status.
int say(std::string_view text);

// "sbx-run: warning: text" on stderr.
void warn(const std::string& text);

// Opens a file for the answer: made if absent, never through a symlink, never waiting for a FIFO.
// Errors: kOutputUnwritable.
Result<OwnedFd> open_result_file(const std::string& path);

// Errors: kBadDescriptor for a directory or an O_PATH descriptor, which would lead out.
Status check_standard_descriptor(int fd);
// And one that a command could connect, bind or send from in the host's network: it may take part
// in that in the mode `open` alone. A Unix stream is as good as a pipe.
Status check_handed(int fd, NetworkMode mode);

}  // namespace sbx
