// SPDX-License-Identifier: Apache-2.0
// One Slurm job: an allocation of nodes that lives as long as this process, and on each node one
// session's server, which is spoken to over its step's own streams. Nothing is shared but those.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx::batch {

inline constexpr std::chrono::milliseconds kLongestEnd{5000};  // of what has been signalled

// A program whose standard input and output are one socket of ours. It is told to end with us.
class Child {
 public:
  // Found by PATH. Errors: kNotFound, kSetupFailed.
  static Result<Child> start(const std::vector<std::string>& argv);
  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // closes the socket and waits; one that stays is ended

  int socket() const { return socket_.get(); }
  // Reads lines until one is `last` (true), it ends or the time is over.
  bool read_until(const std::string& last, std::chrono::milliseconds patience, int signal_fd,
                  std::vector<std::string>& lines) const;
  // The last line of its standard error that is sbx-run's: srun's own may follow it. Where none is,
  // the last.
  std::string complaint() const;
  void end(int signal) const;

 private:
  OwnedFd socket_;
  OwnedFd errors_;
  pid_t pid_ = -1;
};

struct SlurmWanted {
  std::uint64_t nodes = 1;
  std::string partition;  // empty: the default one
};

class SlurmJob {
 public:
  // Waits in the queue as long as it takes, but not for nodes that there are not. Errors:
  // kSessionFailed with what Slurm says; kNotFound without its programs; kCancelled by a signal.
  static Result<SlurmJob> submit(const SlurmWanted& wanted, int signal_fd);

  const std::vector<std::string>& nodes() const { return nodes_; }
  std::uint64_t processors() const { return processors_; }  // of a node
  // The server of a session on that node, with these flags.
  Result<Child> serve(const std::string& node, const std::string& program,
                      const std::vector<std::string>& flags) const;

 private:
  Child allocation_;
  std::string id_;
  std::vector<std::string> nodes_;
  std::uint64_t processors_ = 1;
};

}  // namespace sbx::batch
