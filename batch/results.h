// SPDX-License-Identifier: Apache-2.0
// Where the results go: a file of whole lines that a later batch can resume, or standard output.
// In the order of the input, what comes too early waits on disk beside the file (NAME.held), where
// a kill does not lose it, within a bounded window.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"
#include "id_set.h"
#include "options.h"
#include "rpc/framing.h"
#include "task_line.h"

namespace sbx::batch {

class Results {
 public:
  // Opens them; with --resume marks in `ids` what is recorded (a line that was no request: as
  // line_key()), and takes a torn last line away. Errors: kOutputUnwritable.
  static Result<Results> open(const Options& options, IdSet& ids);
  // No id begins with that byte: each is UTF-8.
  static std::string line_key(std::uint64_t line) { return "\xff" + std::to_string(line); }

  // Where nothing can begin: a file with nothing in it is in the way of the next batch.
  void remove_empty() const;

  // A result that an earlier batch held back for its turn; empty: none.
  Result<std::string> take_held(std::string_view id);
  // `turn`: the place among all results of this batch, from 0. Errors: kOutputUnwritable.
  Status add(std::uint64_t turn, std::string_view line);
  // Whether this error, of a run that was ended for the sake of what it must not change, names the
  // results or what is held beside them.
  bool are_named(std::string_view message) const;
  // That they have been moved, removed or replaced while the batch ran: kOutputUnwritable.
  Error gone() const;
  // No more should begin before some of what is held, or waits for a slow reader, has gone.
  bool is_full() const;
  // Of a slow reader of standard output: poll for writing, then flush(). -1: nothing waits.
  int blocked_fd() const { return queue_.empty() ? -1 : 1; }
  Status flush();
  // What an earlier batch held and no line asked for goes to the end; a file of held results that
  // is no longer needed is removed. `is_whole`: no turn is missing.
  Status close(bool is_whole);

 private:
  struct Span {
    off_t offset = 0;
    std::size_t size = 0;
  };
  Status open_file(const Options& options, IdSet& ids);
  // Where the first begins that is to be done again; -1: none is.
  Result<off_t> read_recorded(const Options& options, IdSet& ids);
  Status open_held(bool is_resumed, bool drops_failed, const IdSet& ids);
  Status read_held(bool drops_failed, const IdSet& ids);
  Status without_failed();
  Status hold_rest(off_t begin);
  // Where somebody has removed them, every line would be lost. Errors: kOutputUnwritable.
  Status check_in_place() const;
  Status write_line(std::string_view line);
  Status hold(std::uint64_t turn, std::string_view line);
  Result<Span> write_held(std::string_view line);
  Result<std::string> read_span(const Span& span) const;
  Status give_held();

  OwnedFd file_;
  std::string path_;  // empty: standard output
  LineQueue queue_;   // of standard output
  bool in_order_ = false;
  std::uint64_t next_turn_ = 0;
  OwnedFd held_file_;
  off_t held_end_ = 0;
  std::size_t held_bytes_ = 0;
  std::map<std::uint64_t, Span> held_;
  std::map<std::string, Span, std::less<>> earlier_;  // of an earlier batch, by id
};

}  // namespace sbx::batch
