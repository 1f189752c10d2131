// SPDX-License-Identifier: Apache-2.0
// Nothing is waited for longer than ten seconds, and nothing larger than a header may be is taken.
#include "http/sources.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/files.h"
#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/pointers.h"
#include "base/start_program.h"

namespace sbx::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{10};

Error bad(const std::string& where, std::string message, std::string hint) {
  return Error{ErrorCode::kBadValue, std::move(message), where, std::move(hint)};
}

Result<std::string> from_file(const std::string& path, const std::string& where) {
  const std::string subject = "the file " + path;
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) {
    return bad(where, subject + " cannot be read: " + errno_text(errno),
               "write the secret to it, readable for the operator");
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return bad(where, subject + " is no regular file", "name a regular file");
  }
  Result<std::string> text = read_up_to(fd.get(), kMostSecret + 1);
  if (!text.ok()) return bad(where, subject + " cannot be read: " + text.error().message, "");
  return check_secret(std::move(text).value(), subject, where);
}

// What it prints until it ends; its status comes after.
Result<std::string> read_output(int fd, pid_t pid, const std::string& subject,
                                const std::string& where) {
  std::string text;
  const auto until = Clock::now() + kLimit;
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    const int count = poll(&ready, 1, Loop::wait_ms(until));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    char piece[4096];
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kMostSecret) break;
    if (got > 0) continue;
    for (;;) {
      int status = 0;
      const pid_t ended = waitpid(pid, &status, WNOHANG);
      if (ended == pid) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
        return bad(where, subject + " has failed", "run it by hand to see why");
      }
      if (Clock::now() >= until) break;
      poll(nullptr, 0, 2);
    }
    break;
  }
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return bad(where,
             text.size() > kMostSecret ? subject + " prints more than 16 KiB"
                                       : subject + " has not ended within 10 s",
             "have it print the secret alone, and end");
}

Result<std::string> from_command(const std::vector<std::string>& command,
                                 const EnvironmentBlock& environment, const std::string& where) {
  const std::string subject = "the command " + command.front();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return bad(where, "pipe2: " + errno_text(errno), "");
  const OwnedFd output(ends[0]);
  OwnedFd input(ends[1]);
  // The search goes by this process's own PATH, which it has not.
  const std::string path(value_of(environment, "PATH"));
  setenv("PATH", path.empty() ? "/usr/bin:/bin" : path.c_str(), 1);
  const Result<pid_t> pid = start_program({.arguments = command,
                                           .environment = pointers(environment).data(),
                                           .output = input.get(),
                                           .directory = "/"});
  input.reset();
  if (!pid.ok()) {
    return bad(where, subject + " cannot be run: " + errno_text(pid.error().sys_errno),
               "name a program by its path");
  }
  SBX_TRY(std::string text, read_output(output.get(), pid.value(), subject, where));
  return check_secret(std::move(text), subject, where);
}

}  // namespace

std::string_view value_of(const EnvironmentBlock& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

Result<std::string> check_secret(std::string text, const std::string& from,
                                 const std::string& where) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.empty())
    return bad(where, from + " gives nothing", "it must give the secret, on one line");
  if (text.size() > kMostSecret) {
    return bad(where, from + " gives more than 16 KiB", "it must give the secret, on one line");
  }
  const bool is_line = std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
  if (is_line) return text;
  return bad(where, from + " gives more than one line, or control bytes",
             "it must give the secret alone, on one line");
}

Result<std::string> read_secret(const SecretSource& from, const EnvironmentBlock& environment,
                                const std::string& where) {
  if (from.file) return from_file(*from.file, where);
  if (from.command) return from_command(*from.command, environment, where);
  const std::string_view value = value_of(environment, *from.env);
  if (value.empty()) {
    return bad(where, "the variable " + *from.env + " is not set, or empty",
               "set it where sbx-run is started");
  }
  return check_secret(std::string(value), "the variable " + *from.env, where);
}

}  // namespace sbx::http
