// SPDX-License-Identifier: Apache-2.0
// One walk, by descriptor.
#include "kept/look.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "base/files.h"
#include "host/layer_places.h"
#include "host/owners.h"
#include "kept/store.h"

namespace sbx {
namespace {

constexpr std::size_t kMostEntries = 5'000'000;
constexpr int kMaxDepth = 500;

class Look {
 public:
  explicit Look(dev_t device) : device_(device) {}

  // Whether anything in it could be changed by the caller. `may_move`: what lies in it, too.
  bool walk(int parent, const char* name, int depth, bool may_move) {
    bool is_writable = false;
    Listing listing(parent, name, O_NOFOLLOW);
    while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
      if (!obstacle_.empty()) return is_writable;
      struct stat info {};
      if (fstatat(listing.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (++seen_ > kMostEntries || depth == kMaxDepth) obstacle_ = "it holds too much to look at";
      bool can_change = may_change(listing.fd(), entry->d_name, info);
      if (S_ISREG(info.st_mode)) note_links(info, can_change);
      if (S_ISDIR(info.st_mode)) {
        if (info.st_dev != device_) {
          obstacle_ = std::string("a file system is mounted at ") + entry->d_name;
          return is_writable;
        }
        can_change = walk(listing.fd(), entry->d_name, depth + 1, can_change) || can_change;
      }
      if ((can_change || may_move) && is_foreign(info)) {
        obstacle_ = std::string("owner or group of ") + entry->d_name + " is not the caller's";
      }
      is_writable = is_writable || can_change;
    }
    return is_writable;
  }

  const std::string& obstacle() const { return obstacle_; }

 private:
  void note_links(const struct stat& info, bool can_change) {
    if (info.st_nlink < 2 || !can_change || (info.st_mode & 0222) == 0) return;
    if (!linked_.insert(info.st_ino).second) obstacle_ = "files in it have several names";
  }

  dev_t device_;
  std::set<ino_t> linked_;
  std::size_t seen_ = 0;
  std::string obstacle_;
};

// Tried with two files that have no name.
bool may_share_blocks(const std::string& workspace, const std::string& store) {
  struct stat from {};
  struct stat to {};
  if (stat(workspace.c_str(), &from) != 0 || stat(store.c_str(), &to) != 0) return false;
  const OwnedFd source(open(store.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const OwnedFd target(open(store.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  return from.st_dev == to.st_dev && source.is_open() && target.is_open() &&
         write(source.get(), "x", 1) == 1 && ioctl(target.get(), FICLONE, source.get()) == 0;
}

}  // namespace

std::string overlay_obstacle(const std::string& root) {
  struct stat info {};
  if (stat(root.c_str(), &info) != 0) return {};
  // Without a layer it is shown to root as its own.
  if (geteuid() == 0 && info.st_uid != 0) return "it is another user's";
  // A bind mount may be of the same file system, or of a file.
  const std::string mounted = mount_below(root);
  if (!mounted.empty()) return "a file system is mounted at " + mounted;
  Look look(info.st_dev);
  look.walk(AT_FDCWD, root.c_str(), 0, may_change(AT_FDCWD, root.c_str(), info));
  return look.obstacle();
}

Result<NewLayer> plan_new_layer(const Environment& environment, const std::string& workspace) {
  SBX_TRY(const LayerStore store, open_layer_store(environment, workspace));
  NewLayer layer;
  layer.directory = store.directory;
  layer.shares_blocks = may_share_blocks(workspace, store.directory);
  layer.obstacle = store.may_overlay ? overlay_obstacle(workspace) : kNoUpper;
  if (!layer.obstacle.empty()) layer.kind = KeptKind::kCopy;
  return layer;
}

}  // namespace sbx
