// SPDX-License-Identifier: Apache-2.0
// AppendFile: a log of lines that many processes add to at one time. Opened without following a
// symlink at its end and without waiting for a FIFO; each line is one write at the end of the file
// that its name leads to by then.
#pragma once

#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class AppendFile {
 public:
  // Made with mode 0600 where it is missing. Errors: kOutputUnwritable with this `where`.
  static Result<AppendFile> open(const std::string& path, std::string_view where);

  // Opens it anew, as at first, where its name has come to lead elsewhere: moved, removed,
  // replaced. Where that fails, what was open stays so.
  Status follow();

  // follow(), and adds `line` (without a newline) whole, or nothing of it, on a line of its own.
  // Errors: kOutputUnwritable.
  Status append_line(std::string_view line);

 private:
  AppendFile(OwnedFd file, std::string path, std::string where)
      : file_(std::move(file)), path_(std::move(path)), where_(std::move(where)) {}

  OwnedFd file_;
  std::string path_;
  std::string where_;
};

}  // namespace sbx
