// SPDX-License-Identifier: Apache-2.0
// The names and modes that git takes into a tree, as it says itself.
#pragma once

#include <git2.h>

#include <memory>
#include <string>

#include "kept/base_records.h"

namespace sbx {

template <typename T, void (*Free)(T*)>
struct GitFree {
  void operator()(T* value) const { Free(value); }
};
using GitIndex = std::unique_ptr<git_index, GitFree<git_index, git_index_free>>;

// git takes no such component into a tree.
bool is_gits_own(const std::string& path);

class GitNames {
 public:
  GitNames();
  ~GitNames();
  GitNames(const GitNames&) = delete;
  GitNames& operator=(const GitNames&) = delete;

  bool takes(const std::string& path, unsigned mode) const;
  bool takes(const std::string& path, const BaseRecord& record) const;

 private:
  GitIndex index_;
};

}  // namespace sbx
