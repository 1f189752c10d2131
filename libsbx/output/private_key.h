// SPDX-License-Identifier: Apache-2.0
// Private-key blocks (PEM, OpenSSH, PGP, PuTTY): where one begins in a line, and how far it goes on
// over the lines that follow, END line or not. Values only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

class PrivateKeyBlock {
 public:
  // What of a line is key: [begin, end).
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool empty() const { return begin == end; }
  };

  // Looks for the header at line[at], which holds "-----BEGIN" (or PuTTY's "Private-Lines:"), and
  // gives what follows of the key in this line. Afterwards is_open() says whether it may go on.
  Part begin(std::string_view line, std::size_t at);

  bool is_open() const { return open_; }

  // What of the next line belongs to the open block. Empty while open: a blank line.
  Part continue_line(std::string_view line);

  // The block has been closed by something else than its END, which may stand within it, as by
  // `set -x`: for a while lines of a key may still follow.
  bool is_near() const { return !open_ && near_ > 0; }

  // What of the next line is a key's all the same; the block is open again where that is all of it.
  Part look_again(std::string_view line);

 private:
  Part body(std::string_view line, std::size_t from, std::size_t at);
  void note_length(std::size_t length);

  bool open_ = false;
  bool last_line_seen_ = false;  // a short line: only the footer may follow
  bool blank_line_seen_ = false;
  std::size_t width_ = 0;  // of the first line; 0: none seen
  unsigned near_ = 0;      // lines that are still looked at
  std::string prefix_;     // what stood before the header: "+", "12:", "key.pem-"
};

}  // namespace sbx
