// SPDX-License-Identifier: Apache-2.0
// What real files were when a layer first wrote, removed or renamed them: by this a commit tells
// whether somebody else has changed them since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sbx {

struct BaseRecord {
  enum Kind : char {
    kAbsent = '-',
    kFile = 'f',
    kLink = 'l',
    kDirectory = 'd',
    kOther = 'o',
    kUnknown = '?',  // it was changed while the layer was already at it
  };
  char kind = kAbsent;
  unsigned mode = 0;  // of 07777
  // Of a file's bytes or a link's target, and of user attributes. A large file's is its number,
  // size and time; number 0 is any.
  std::string digest;
  std::int64_t stamp = 0;  // in a copy: the change time that its file got, in nanoseconds
  // A directory that the layer has hidden, with a record of all that was in it by then: what
  // somebody puts into it later the layer has never seen.
  bool is_hidden = false;
};

// Whether the file is still what the record says: its kind, its bytes and its user attributes.
bool is_same_content(const BaseRecord& was, const BaseRecord& is);
// The record of a large file that also holds for a copy of it that has its time: a commit copies.
BaseRecord of_any_copy(BaseRecord record);
bool is_of_any_copy(const BaseRecord& record);

// What is there now, below the directory at `root`. `changed_ns`: its last change.
BaseRecord look_at_real(int root, const std::string& path, std::int64_t* changed_ns = nullptr);
// Whether two regular files of `size` bytes, below two directories, are the same by that rule. What
// cannot be read, or is more than is read, is not.
bool is_same_file_in(int root, int other, const std::string& path, std::int64_t size);
// A regular file's, as in a record. Empty where it cannot be read.
std::string digest_of(int fd);

class BaseRecords {
 public:
  using Key = std::pair<std::size_t, std::string>;  // root, path below it

  // Adds what a file holds; one that is missing holds nothing. A damaged end is left out.
  void load(const std::string& path);
  const BaseRecord* find(std::size_t root, const std::string& path) const;
  // What was recorded first stays.
  void add(std::size_t root, const std::string& path, const BaseRecord& record);
  void stamp(std::size_t root, const std::string& path, std::int64_t stamp);
  // Of a directory's record; no other is changed.
  void hide(std::size_t root, const std::string& path);
  const std::map<Key, BaseRecord>& all() const { return records_; }
  // Appends what was added since the last call to the file. Errors: kSetupFailed.
  Status save(const std::string& path);

 private:
  std::map<Key, BaseRecord> records_;
  std::vector<Key> fresh_;
};

std::string encode_base_record(std::size_t root, const std::string& path, const BaseRecord& record);
// False for what is none.
bool decode_base_record(std::string_view text, std::size_t& root, std::string& path,
                        BaseRecord& record);

}  // namespace sbx
