// SPDX-License-Identifier: Apache-2.0
// A file → its lines, one at a time, as far as the file went when it was opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx::page {

class LineReader {
 public:
  // Longer ones are told apart by their length, not kept.
  static constexpr std::size_t kMostLine = std::size_t{64} << 20;

  // Errors: kPathNotFound; kPathRefused for what is no regular file.
  static Result<LineReader> open(const std::string& path);

  // False at the end, and where the file cannot be read on: then failure() says why.
  bool next();
  std::string_view line() const { return line_; }
  std::uint64_t number() const { return number_; }  // of the line, from 1
  bool is_too_long() const { return is_too_long_; }
  int failure() const { return failure_; }  // an errno; 0: none
  void rewind();
  // Errors: kBadFlag, where that path leads to the same file.
  Status check_other(const std::string& path) const;

 private:
  LineReader(OwnedFd file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  bool fill();

  OwnedFd file_;
  std::uint64_t size_ = 0;
  std::uint64_t offset_ = 0;  // of what comes behind the buffer
  std::string buffer_;
  std::size_t at_ = 0;  // in the buffer
  std::string line_;
  std::uint64_t number_ = 0;
  bool is_too_long_ = false;
  int failure_ = 0;
};

}  // namespace sbx::page
