// SPDX-License-Identifier: Apache-2.0
// The helper process of a session: started without copying the host's memory, no child of the host,
// ended by closing its socket.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class Helper {
 public:
  Helper() = default;
  Helper(Helper&&) noexcept = default;
  Helper& operator=(Helper&&) = delete;
  ~Helper();  // closes the socket and waits for the end

  // `argv` is handed on with the descriptor and the owner behind it. Errors: kNotFound,
  // kNotExecutable, kSetupFailed.
  static Result<Helper> start(const std::string& program, std::vector<std::string> argv);

  int socket() const { return socket_.get(); }
  // False in a fork of the process that started it.
  bool is_mine() const { return owner_ == ::getpid(); }
  // A process that it began may hold the socket open for a while longer.
  bool has_ended() const;
  void hang_up() { ::shutdown(socket_.get(), SHUT_RDWR); }
  void kill();
  // Closes this process's copies, and ends nothing.
  void abandon();

 private:
  OwnedFd socket_;
  OwnedFd pidfd_;
  pid_t owner_ = -1;  // the process that started it
};

// The sbx-run that belongs to this library: beside it, or in the bin directory of its prefix.
// Errors: kNotFound.
Result<std::string> find_program();

}  // namespace sbx
