// SPDX-License-Identifier: Apache-2.0
// The tasks, a line at a time, read no further than somebody asks: a file, a pipe, a FIFO.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"
#include "rpc/framing.h"

namespace sbx::batch {

class TaskInput {
 public:
  // "-": standard input. Errors: kPathNotFound, kPathRefused.
  static Result<TaskInput> open(const std::string& path);

  // The next line that is not blank; nullopt: read() more first, or is_at_end().
  std::optional<Line> next();
  bool is_at_end() const { return is_ended_ && !has_rest_; }
  // To poll for reading; -1 at the end.
  int fd() const { return is_ended_ ? -1 : file_.get(); }
  void read();  // once; what poll(2) promised does not block
  // How many lines of this shard are not blank, in all of the file; nullopt where it is no regular
  // file.
  std::optional<std::uint64_t> count(std::uint64_t shard, std::uint64_t shards) const;

 private:
  OwnedFd file_;
  LineReader reader_;
  bool is_ended_ = false;
  bool has_rest_ = true;  // of the reader, once the file has ended
};

// Whether the shard, counted from 1, has this line.
inline bool is_in_shard(std::uint64_t line, std::uint64_t shard, std::uint64_t shards) {
  return (line - 1) % shards == shard - 1;
}

}  // namespace sbx::batch
