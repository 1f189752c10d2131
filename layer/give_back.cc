// SPDX-License-Identifier: Apache-2.0
// Both kinds of layer: an overlay gets one epoch more, in a copy files take their place.
#include "give_back.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "epochs.h"
#include "host_files/remove_tree.h"
#include "kept/copy.h"
#include "kept/merged.h"

namespace sbx {
namespace {

// What a directory gets when all is in it.
struct Ending {
  mode_t mode = 0700;
  std::string like;  // of whose attributes and times
  int root = -1;     // that it lies below; -1: of the layer's own
};

void end_directory(const OwnedFd& directory, const Ending& ending) {
  if (!directory.is_open()) return;
  const OwnedFd like(ending.root < 0 ? open(ending.like.c_str(), kDirectoryFlags)
                                     : open_beneath(ending.root, ending.like, kDirectoryFlags));
  if (like.is_open()) give_attributes(like.get(), directory.get());
  if (!give_access(like.get(), directory.get(), ending.mode)) {
    (void)!fchmod(directory.get(), ending.mode & 0707);
  }
}

class Rebuild {
 public:
  Rebuild(KeptLayer& layer, const std::string& epoch)
      : layer_(layer), epoch_(epoch), roots_(open_roots(layer.state())) {}

  // What is removed first, the deepest before: a directory that was removed hides what was in it.
  Status take(const Passages& all) {
    for (const auto& [key, passage] : all) {
      BaseRecord base = *passage.from;
      struct stat kept {};
      // Where the real mode has stayed, the layer's own is what it first saw.
      if (base.kind == BaseRecord::kFile && passage.to->kind == base.kind &&
          ((base.mode ^ passage.to->mode) & 0777) == 0 && lstat(passage.kept.c_str(), &kept) == 0) {
        base.mode = kept.st_mode & 07777;
      }
      base_.add(key.first, key.second, base);
      if (passage.to->kind != BaseRecord::kDirectory) base_.hide(key.first, key.second);
    }
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      if (at->second.to->kind == BaseRecord::kAbsent) SBX_CHECK_OK(put(at->first, at->second));
    }
    for (const auto& [key, passage] : all) {
      if (passage.to->kind != BaseRecord::kAbsent) SBX_CHECK_OK(put(key, passage));
    }
    // What lies in a directory before the directory, which may close.
    for (auto at = modes_.rbegin(); at != modes_.rend(); ++at) {
      end_directory(OwnedFd(open(at->first.c_str(), kDirectoryFlags)), at->second);
    }
    return base_.save(layer_.store().epoch(epoch_) + "/base");
  }

 private:
  void make_parents(const TouchedKey& key, const std::string& upper) {
    const std::string path = upper + "/" + key.second;
    for (std::size_t at = path.find('/', upper.size() + 1); at != std::string::npos;
         at = path.find('/', at + 1)) {
      const std::string parent = path.substr(0, at);
      struct stat real {};
      if (mkdir(parent.c_str(), 0700) != 0) continue;
      const std::string shown = parent.substr(upper.size() + 1);
      const int root = roots_.at(key.first).get();
      const bool is_real = stat_beneath(root, shown, real) && S_ISDIR(real.st_mode);
      modes_.try_emplace(parent, Ending{is_real ? real.st_mode & 0777 : 0755, shown, root});
    }
  }

  Status put(const TouchedKey& key, const Passage& passage) {
    const std::string upper = layer_.store().part(epoch_, key.first) + "/upper";
    const std::string path = upper + "/" + key.second;
    make_parents(key, upper);
    bool is_made = true;
    if (passage.to->kind == BaseRecord::kAbsent) {
      remove_tree(path);
      is_made = make_whiteout(AT_FDCWD, path);
    } else if (passage.to->kind == BaseRecord::kDirectory) {
      is_made = mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
      modes_.insert_or_assign(path, Ending{passage.to->mode & 0777, passage.kept});
    } else {
      // In the place of a directory whose entries have gone.
      if (unlink(path.c_str()) != 0) remove_tree(path);
      is_made = linkat(AT_FDCWD, passage.kept.c_str(), AT_FDCWD, path.c_str(), 0) == 0;
    }
    return is_made ? Status() : layer_failure("cannot keep " + path, errno);
  }

  KeptLayer& layer_;
  const std::string& epoch_;
  std::vector<OwnedFd> roots_;
  BaseRecords base_;
  std::map<std::string, Ending> modes_;
};

class GiveBack {
 public:
  GiveBack(const KeptLayer& layer, const std::string& epoch) : layer_(layer), epoch_(epoch) {
    known_.load(layer.store().epoch(epoch) + "/base");
  }

  Status take(const Passages& all) {
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      if (at->second.to->kind == BaseRecord::kAbsent) SBX_CHECK_OK(put(at->first, at->second));
    }
    for (const auto& [key, passage] : all) {
      if (passage.to->kind != BaseRecord::kAbsent) SBX_CHECK_OK(put(key, passage));
    }
    for (auto at = modes_.rbegin(); at != modes_.rend(); ++at) {
      const OwnedFd tree = open_tree(layer_, epoch_, at->first.first);
      end_directory(OwnedFd(open_beneath(tree.get(), at->first.second, kDirectoryFlags)),
                    at->second);
    }
    return {};
  }

 private:
  Status put(const TouchedKey& key, const Passage& passage) {
    const OwnedFd tree = open_tree(layer_, epoch_, key.first);
    std::string name;
    const OwnedFd parent = open_parent(tree.get(), key.second, name);
    if (!parent.is_open()) return {};  // what it lay in has become something else
    struct stat info {};
    const bool is_there = fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    const bool is_directory = is_there && S_ISDIR(info.st_mode);
    if (!is_directory && !is_settled(key, is_there, info)) return {};
    const bool wants_directory = passage.to->kind == BaseRecord::kDirectory;
    const bool is_in_the_way =
        is_there && (is_directory != wants_directory || passage.to->kind == BaseRecord::kAbsent);
    // With something new in it, it stays.
    if (is_in_the_way &&
        unlinkat(parent.get(), name.c_str(), is_directory ? AT_REMOVEDIR : 0) != 0) {
      return {};
    }
    if (passage.to->kind == BaseRecord::kAbsent) return {};
    if (wants_directory) {
      modes_[key] = {passage.to->mode & 0777, passage.kept};
      if (is_directory || mkdirat(parent.get(), name.c_str(), 0700) == 0) return {};
    } else {
      const std::string fresh = layer_.store().part(epoch_, key.first) + "/back";
      unlink(fresh.c_str());
      if ((link_to_first(passage, key, fresh) || copy_kept(passage, fresh)) &&
          renameat(AT_FDCWD, fresh.c_str(), parent.get(), name.c_str()) == 0) {
        return {};
      }
    }
    return layer_failure("cannot keep " + escape_control_bytes(key.second), errno);
  }

  // As it was at the commit's end.
  bool is_settled(const TouchedKey& key, bool is_there, const struct stat& info) const {
    const BaseRecord* const record = known_.find(key.first, key.second);
    if (record == nullptr || record->kind == BaseRecord::kAbsent) return !is_there;
    return is_there && record->stamp == nanoseconds(info.st_ctim);
  }

  // Another name of a file that has its first one in this tree again.
  bool link_to_first(const Passage& passage, const TouchedKey& key, const std::string& to) {
    struct stat info {};
    if (lstat(passage.kept.c_str(), &info) != 0 || info.st_nlink < 2) return false;
    const auto [first, is_new] = linked_.emplace(info.st_ino, key);
    if (is_new) return false;
    const OwnedFd tree = open_tree(layer_, epoch_, first->second.first);
    std::string name;
    const OwnedFd parent = open_parent(tree.get(), first->second.second, name);
    return parent.is_open() && linkat(parent.get(), name.c_str(), AT_FDCWD, to.c_str(), 0) == 0;
  }

  static bool copy_kept(const Passage& passage, const std::string& to) {
    if (passage.to->kind == BaseRecord::kLink) {
      return copy_link(AT_FDCWD, passage.kept, AT_FDCWD, to);
    }
    if (passage.to->kind == BaseRecord::kOther) {
      return linkat(AT_FDCWD, passage.kept.c_str(), AT_FDCWD, to.c_str(), 0) == 0;
    }
    const OwnedFd from(open(passage.kept.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const OwnedFd target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!from.is_open() || !target.is_open() || !copy_bytes(from.get(), target.get())) return false;
    give_attributes(from.get(), target.get());
    return fchmod(target.get(), passage.to->mode & 0777) == 0;
  }

  const KeptLayer& layer_;
  const std::string& epoch_;
  BaseRecords known_;
  std::map<ino_t, TouchedKey> linked_;  // files of several names: the first of them
  std::map<TouchedKey, Ending> modes_;
};

}  // namespace

Passages passages(const LayerStore& store, const std::string& committed,
                  const std::vector<Step>& steps, std::size_t first) {
  Passages out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    Passage& passage = out[{step.root, step.path}];
    if (passage.from == nullptr) passage.from = &step.from;
    passage.to = &step.to;
    passage.kept = store.epoch(committed) + "/new/" + std::to_string(first + i);
  }
  return out;
}

Status fill_epoch(KeptLayer& layer, const std::string& epoch, const Passages& all) {
  return Rebuild(layer, epoch).take(all);
}

Status give_back(const KeptLayer& layer, const std::string& epoch, const Passages& all) {
  return GiveBack(layer, epoch).take(all);
}

OwnedFd open_tree(const KeptLayer& layer, const std::string& epoch, std::size_t root) {
  const std::string path = layer.store().part(epoch, root) + "/tree";
  return OwnedFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace sbx
