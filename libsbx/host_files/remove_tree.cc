// SPDX-License-Identifier: Apache-2.0
// A directory within the top one is first moved up to lie directly below it, and then emptied
// there in the same way: depth never costs a stack frame, a long path or a descriptor.
#include "host_files/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/owned_fd.h"

namespace sbx {
namespace {

// A failure shows in the call that follows.
void make_enterable(int dirfd, const char* name) {
  [[maybe_unused]] const int ignored = fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW);
}

constexpr unsigned kMaxNames = 100'000'000;  // bounds the search for a free name

Listing open_inside(int parent, const char* name) { return Listing(parent, name, O_NOFOLLOW); }

class Remover {
 public:
  explicit Remover(int top) : top_(top) {}

  // Empties the top directory. False when something stays that cannot be removed.
  bool run() {
    for (;;) {
      Listing listing = open_inside(top_, ".");
      if (!listing.is_open()) return false;
      bool removed = false;
      bool left = false;
      while (const dirent* entry = listing.next()) {
        const bool gone = remove_entry(entry->d_name);
        removed = removed || gone;
        left = left || !gone;
      }
      // What was moved up while the directory was read may or may not have been listed.
      if (!left && !removed) return true;
      if (left && !removed && !moved_) return false;
      moved_ = false;
    }
  }

 private:
  bool remove_entry(const char* name) {
    if (unlinkat(top_, name, 0) == 0 || unlinkat(top_, name, AT_REMOVEDIR) == 0) return true;
    // A directory that its owner may not enter is the command's doing.
    make_enterable(top_, name);
    Listing inner = open_inside(top_, name);
    if (!inner.is_open()) return false;
    const int inner_fd = inner.fd();
    while (const dirent* entry = inner.next()) {
      if (unlinkat(inner_fd, entry->d_name, 0) != 0 &&
          unlinkat(inner_fd, entry->d_name, AT_REMOVEDIR) != 0) {
        move_up(inner_fd, entry->d_name);
      }
    }
    return unlinkat(top_, name, AT_REMOVEDIR) == 0;
  }

  void move_up(int from, const char* name) {
    // Moving a directory rewrites its "..", for which it must be writable.
    make_enterable(from, name);
    while (next_ < kMaxNames) {
      const std::string free = "sbx-" + std::to_string(next_++);
      if (renameat2(from, name, top_, free.c_str(), RENAME_NOREPLACE) == 0) {
        moved_ = true;
        return;
      }
      if (errno != EEXIST) return;
    }
  }

  int top_;
  unsigned next_ = 0;
  bool moved_ = false;
};

}  // namespace

bool remove_tree(const std::string& path) {
  clear_tree(path);
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

bool clear_tree(const std::string& path) {
  make_enterable(AT_FDCWD, path.c_str());  // or open may be refused
  const OwnedFd top(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top.is_open()) return false;
  (void)fchmod(top.get(), 0700);
  return Remover(top.get()).run();
}

}  // namespace sbx
