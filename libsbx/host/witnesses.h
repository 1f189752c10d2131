// SPDX-License-Identifier: Apache-2.0
// Witnesses: what a look at files rested on, told by change times. While all of it is as it was,
// another look would find the same. One stat for each directory, however much was looked up there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sbx {

class Witnesses {
 public:
  // Whether there is an entry by this name, and what it is: told by its directory, or by the
  // deepest one above that exists.
  void entry(std::string_view path);
  // All entries of a directory.
  void entries(std::string path);
  // What a file holds.
  void content(const std::string& path) { add(path); }
  // Something was looked at that these cannot tell.
  void give_up() { are_complete_ = false; }

  // False also where something had changed so shortly before the look that a later change may bear
  // the same time.
  bool are_unchanged() const;

 private:
  struct Witness {
    std::string path;
    std::uint64_t dev = 0;
    std::uint64_t ino = 0;
    std::int64_t changed_ns = 0;  // of the inode, since 1970
  };
  bool add(const std::string& path);

  std::vector<Witness> all_;
  bool are_complete_ = true;
};

}  // namespace sbx
