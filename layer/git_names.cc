// SPDX-License-Identifier: Apache-2.0
#include "git_names.h"

#include <git2/sys/path.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace sbx {

bool is_gits_own(const std::string& path) {
  for (const std::string_view part : split(path, '/')) {
    if (part.size() != 4) continue;
    std::string lower(part);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == ".git") return true;
  }
  return false;
}

GitNames::GitNames() {
  git_libgit2_init();
  git_index* index = nullptr;
  if (git_index_new(&index) == 0) index_.reset(index);
}

GitNames::~GitNames() {
  index_.reset();
  git_libgit2_shutdown();
}

bool GitNames::takes(const std::string& path, unsigned mode) const {
  if (mode == 0) return true;
  // A symlink of that name an index without a work tree takes, and `git apply` does not.
  const std::string name = path.substr(path.rfind('/') + 1);
  if (mode == GIT_FILEMODE_LINK &&
      git_path_is_gitfile(name.c_str(), name.size(), GIT_PATH_GITFILE_GITMODULES,
                          GIT_PATH_FS_GENERIC) != 0) {
    return false;
  }
  git_index_entry entry{};
  entry.mode = mode;
  entry.path = path.c_str();
  return !is_gits_own(path) && git_index_clear(index_.get()) == 0 &&
         git_index_add(index_.get(), &entry) == 0;
}

bool GitNames::takes(const std::string& path, const BaseRecord& record) const {
  return takes(path, record.kind == BaseRecord::kLink ? unsigned{GIT_FILEMODE_LINK}
                                                      : unsigned{GIT_FILEMODE_BLOB});
}

}  // namespace sbx
