// SPDX-License-Identifier: Apache-2.0
// NewFile: a file that is there whole or not at all. It is written under a name of its own and then
// takes the place of the old one, which is never opened; a symlink is refused, not followed.
#pragma once

#include <string>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx::page {

class NewFile {
 public:
  // Readable by its owner alone, as an audit log is. Errors: kOutputUnwritable, for a path that
  // leads to anything but a regular file too.
  static Result<NewFile> make(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int fd() const { return file_.get(); }
  Status keep();

 private:
  NewFile(OwnedFd directory, OwnedFd file, std::string path, std::string name, std::string staged);

  OwnedFd directory_;
  OwnedFd file_;
  std::string path_;
  std::string name_;
  std::string staged_;  // empty: it has taken its place
};

}  // namespace sbx::page
