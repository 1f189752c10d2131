// SPDX-License-Identifier: Apache-2.0
// Frozen epochs are never written to, so that any number of stacks may share their files.
#include "epochs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "host_files/user_attributes.h"
#include "kept/copy.h"
#include "kept/merged.h"
#include "sys/overlay.h"
#include "touched.h"

namespace sbx {
namespace {

// The kernel takes 500 lower directories; each is looked into for each name.
constexpr std::size_t kHighStack = 24;

// Names of one file that are copied at a checkpoint, and bytes on the disk.
constexpr std::size_t kMostNames = 1000;
constexpr std::int64_t kMostCarried = std::int64_t{64} << 20;

// Where the real directory has gone by then, the kernel shows a removal as a name without a file,
// but in a directory that was copied up: the empty value says that no more is known of from where.
bool mark_removals(int dirfd, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return true;  // at the top, which is always there
  const OwnedFd parent(openat(dirfd, path.substr(0, slash).c_str(), kDirectoryFlags));
  return fsetxattr(parent.get(), "user.overlay.origin", "", 0, 0) == 0;
}

class Merger {
 public:
  // `real`: the root itself, as it is now. What is not kept and has to be there anyway becomes what
  // is real: its records go to `fresh`.
  Merger(const KeepPath& keep, const BaseRecords& base, std::size_t root, int real, int to,
         BaseRecords& fresh, bool copies = false)
      : keep_(keep),
        base_(base),
        root_(root),
        real_(real),
        to_(to),
        fresh_(fresh),
        copies_(copies) {}

  Status merge(const std::vector<OwnedFd>& levels) {
    Status status;
    const bool is_whole = walk_merged(levels, [&](const MergedEntry& entry) {
      status = take(entry, levels[entry.level].get());
      return status.ok();
    });
    if (status.ok() && !is_whole && !copies_) {
      return too_long();
    }
    if (status.ok()) status = hide_the_rest();
    for (auto at = endings_.rbegin(); at != endings_.rend() && status.ok(); ++at) {
      if (at->has_times) utimensat(to_, at->path.c_str(), at->times, AT_SYMLINK_NOFOLLOW);
      if (fchmodat(to_, at->path.c_str(), at->mode, 0) != 0) status = failed("chmod", at->path);
    }
    return status;
  }

 private:
  struct Shown {
    mode_t mode = 0700;
    bool is_opaque = false;
    int level = -1;  // that shows it; the real one where none does
  };

  // What a directory gets when all is in it.
  struct Ending {
    std::string path;
    mode_t mode = 0700;
    bool has_times = false;
    struct timespec times[2] = {};
  };

  static Error too_long() {
    return Error{ErrorCode::kPathRefused,
                 "the layer holds paths that are too long or too deep to be kept in another one",
                 "layer", "remove them in a run with the layer, or discard it"};
  }
  static Error failed(const char* call, const std::string& path) {
    if (errno == ENAMETOOLONG) return too_long();
    return layer_failure(std::string(call) + "(" + escape_control_bytes(path) + ") in the layer",
                         errno);
  }

  bool keeps(const std::string& path) const { return keep_ == nullptr || keep_(root_, path); }

  // Something in it is real again: a removal that was committed is left out, too, and nothing is
  // there.
  bool has_left_out(const std::string& path) const {
    if (keep_ == nullptr) return false;
    const OwnedFd fd(open_beneath(real_, path, kDirectoryFlags));
    Listing listing = fd.is_open() ? Listing(fd.get(), ".") : Listing();
    while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
      const std::string below = path + "/" + entry->d_name;
      if (!keeps(below) || has_left_out(below)) return true;
    }
    return false;
  }

  // In place of a removal of all that was in it.
  Status open_directory(const std::string& path, const BaseRecord& record) {
    directories_[path] = {static_cast<mode_t>(record.mode), true, -1};
    return make_directory(path);
  }

  Status take(const MergedEntry& entry, int level) {
    const BaseRecord* const known = base_.find(root_, entry.path);
    if (entry.is_whiteout && known != nullptr && known->kind == BaseRecord::kDirectory &&
        keeps(entry.path) && has_left_out(entry.path)) {
      return open_directory(entry.path, *known);
    }
    if (S_ISDIR(entry.info.st_mode)) {
      directories_[entry.path] = {entry.info.st_mode & 07777, entry.is_opaque, level};
      return keeps(entry.path) ? make_directory(entry.path) : Status();
    }
    if (!keeps(entry.path)) {
      left_out_.insert(entry.path);
      return {};
    }
    SBX_CHECK_OK(make_parents(entry.path));
    const auto [first, is_new] = copied_.try_emplace(entry.info.st_ino, entry.path);
    if (copies_ && is_new) return copy_file(entry, level);
    const std::string& name = copies_ ? first->second : entry.path;
    if (linkat(copies_ ? to_ : level, name.c_str(), to_, entry.path.c_str(), 0) != 0) {
      return failed("link", entry.path);
    }
    if (entry.is_whiteout && !mark_removals(to_, entry.path)) {
      return failed("setxattr", entry.path);
    }
    return {};
  }

  Status copy_file(const MergedEntry& entry, int level) {
    const OwnedFd from = open_own(level, entry.path);
    const OwnedFd to(
        openat(to_, entry.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!from.is_open() || !to.is_open() || !copy_bytes(from.get(), to.get())) {
      return failed("copy", entry.path);
    }
    keep_owner(entry.info, to.get());
    give_attributes(from.get(), to.get());
    return give_access(from.get(), to.get(), entry.info.st_mode & 07777)
               ? Status()
               : failed("chmod", entry.path);
  }

  Status make_parents(const std::string& path) {
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      SBX_CHECK_OK(make_directory(path.substr(0, at)));
    }
    return {};
  }

  Status make_directory(const std::string& path) {
    if (!made_.insert(path).second) return {};
    SBX_CHECK_OK(make_parents(path));
    Shown& shown = directories_[path];
    if (!keeps(path)) take_real(path, shown);
    if (mkdirat(to_, path.c_str(), 0700) != 0) return failed("mkdir", path);
    const OwnedFd made(openat(to_, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const OwnedFd source(
        open_beneath(shown.level < 0 ? real_ : shown.level, path, kDirectoryFlags));
    Ending ending{path, shown.mode};
    struct stat info {};
    if (source.is_open() && fstat(source.get(), &info) == 0) {
      copy_user_attributes(source.get(), made.get());
      (void)give_access(source.get(), made.get(), 0700);
      ending.has_times = true;
      ending.times[0] = info.st_atim;
      ending.times[1] = info.st_mtim;
    }
    // What an opaque directory hides is hidden name by name where some of its names are left out:
    // those are real from now on.
    if (shown.is_opaque && keep_ == nullptr &&
        fsetxattr(made.get(), sys::kOverlayOpaque, "y", 1, 0) != 0) {
      return failed("setxattr", path);
    }
    endings_.push_back(std::move(ending));
    return {};
  }

  void take_real(const std::string& path, Shown& shown) {
    const BaseRecord real = look_at_real(real_, path);
    if (real.kind != BaseRecord::kDirectory) return;
    shown.mode = real.mode & 0777;
    shown.level = -1;
    fresh_.add(root_, path, real);
  }

  Status hide_the_rest() {
    if (keep_ == nullptr) return {};
    for (const auto& [key, record] : base_.all()) {
      const std::string& path = key.second;
      if (key.first != root_ || record.kind == BaseRecord::kAbsent || !keeps(path)) continue;
      const std::size_t slash = path.rfind('/');
      const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
      const auto found = directories_.find(parent);
      if (found == directories_.end() || !found->second.is_opaque || !made_.contains(parent))
        continue;
      struct stat info {};
      if (fstatat(to_, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) continue;
      if (record.kind == BaseRecord::kDirectory && has_left_out(path)) {
        SBX_CHECK_OK(open_directory(path, record));
      } else if (!make_whiteout(to_, path)) {
        return failed("mknod", path);
      }
    }
    return {};
  }

  const KeepPath& keep_;
  const BaseRecords& base_;
  std::size_t root_;
  int real_;
  int to_;
  BaseRecords& fresh_;
  const bool copies_;  // and the other names of a file are that of its copy
  std::map<ino_t, std::string> copied_;
  std::map<std::string, Shown> directories_;
  std::set<std::string> made_;
  std::set<std::string> left_out_;
  std::vector<Ending> endings_;
};

// Whether an upper directory in which none is opaque has something else than a directory there, or
// on the way.
bool is_hidden_by(int upper, const std::string& path) {
  for (std::size_t at = path.find('/');; at = path.find('/', at + 1)) {
    struct stat info {};
    if (!stat_beneath(upper, path.substr(0, at), info)) return false;
    if (!S_ISDIR(info.st_mode)) return true;
    if (at == std::string::npos) return false;
  }
}

// `kept`: the records that are new.
Status merge_base(KeptLayer& layer, const KeepPath& keep, const std::string& epoch,
                  BaseRecords& kept) {
  std::vector<OwnedFd> uppers;
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    uppers.emplace_back(open((layer.store().part(epoch, i) + "/upper").c_str(), kDirectoryFlags));
  }
  for (const auto& [key, record] : layer.base().all()) {
    if (keep != nullptr && !keep(key.first, key.second)) continue;
    BaseRecord known = record;
    known.is_hidden = record.is_hidden &&
                      (keep == nullptr || is_hidden_by(uppers.at(key.first).get(), key.second));
    kept.add(key.first, key.second, known);
  }
  return kept.save(layer.store().epoch(epoch) + "/base");
}

// The tree as it really is now.
Status copy_real(KeptLayer& layer, std::size_t root, const std::string& to, BaseRecords& records) {
  TreeCopy copy;
  copy.root = root;
  return copy_tree(layer.state().roots[root], layer.store().part(to, root) + "/tree", copy,
                   records);
}

// A copy of a copy: what was unchanged in the one is so in the other. A root that came to the layer
// later has none there.
Status copy_epoch(KeptLayer& layer, const std::string& from, const std::string& to) {
  BaseRecords was;
  was.load(layer.store().epoch(from) + "/base");
  BaseRecords is;
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    const std::string source = layer.store().part(from, i) + "/tree";
    if (access(source.c_str(), F_OK) != 0) {
      SBX_CHECK_OK(copy_real(layer, i, to, is));
      continue;
    }
    BaseRecords made;
    TreeCopy copy;
    copy.root = i;
    copy.is_own = true;
    SBX_CHECK_OK(copy_tree(source, layer.store().part(to, i) + "/tree", copy, made));
    const OwnedFd tree(open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (const auto& [key, record] : was.all()) {
      if (key.first != i) continue;
      BaseRecord again = record;
      struct stat info {};
      const BaseRecord* const copied = made.find(i, key.second);
      const bool is_same = copied != nullptr && stat_beneath(tree.get(), key.second, info) &&
                           record.stamp == nanoseconds(info.st_ctim);
      again.stamp = is_same ? copied->stamp : 0;
      is.add(i, key.second, again);
    }
  }
  return is.save(layer.store().epoch(to) + "/base");
}

// The kernel copies up each name of a frozen file by itself, and parts it from the others: so they
// are copied together, into the epoch that is written to. Each does that for the one above it:
// `depth` is how many below it are looked at. What is too much is written down, and named by the
// run that parts it.
Status carry_links(KeptLayer& layer, std::size_t depth) {
  struct File {
    std::int64_t bytes = 0;
    std::vector<std::string> names;
  };
  BaseRecords left;
  std::size_t count = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    std::vector<std::string> paths = layer.levels(i);
    const OwnedFd to(open(paths.front().c_str(), kDirectoryFlags));
    paths.erase(paths.begin());
    paths.resize(std::min(paths.size(), depth));
    const std::vector<OwnedFd> from = open_levels(paths);
    std::map<ino_t, File> files;
    walk_merged(from, [&](const MergedEntry& entry) {
      if (!S_ISREG(entry.info.st_mode) || entry.info.st_nlink < 2) return true;
      File& file = files[entry.info.st_ino];
      file.bytes = std::int64_t{entry.info.st_blocks} * 512;
      file.names.push_back(entry.path);
      return true;
    });
    std::set<std::string> carried;
    for (const auto& [number, file] : files) {
      if (file.names.size() < 2) continue;  // another epoch has the other one
      const bool fits =
          count + file.names.size() <= kMostNames && bytes + file.bytes <= kMostCarried;
      if (fits) {
        count += file.names.size();
        bytes += file.bytes;
      }
      for (const std::string& name : file.names) {
        if (!fits) left.add(i, name, {});
        for (std::size_t at = name.size(); fits && at != name.npos; at = name.rfind('/', at - 1)) {
          carried.insert(name.substr(0, at));
        }
      }
    }
    struct stat top {};
    if (carried.empty() || fstat(to.get(), &top) != 0) continue;
    const KeepPath keep = [&](std::size_t, const std::string& path) {
      return carried.contains(path);
    };
    (void)!fchmod(to.get(), 0700);
    BaseRecords fresh;
    SBX_CHECK_OK(Merger(keep, layer.base(), i, to.get(), to.get(), fresh, true).merge(from));
    (void)!fchmod(to.get(), top.st_mode & 07777);
  }
  return left.save(layer.store().epoch(layer.state().stack.back()) + kLinkedNames);
}

}  // namespace

bool make_whiteout(int dirfd, const std::string& path) {
  return mknodat(dirfd, path.c_str(), S_IFCHR, makedev(0, 0)) == 0 && mark_removals(dirfd, path);
}

Result<std::string> merge_stack(KeptLayer& layer, const KeepPath& keep) {
  SBX_TRY(std::string epoch, make_epoch(layer.store(), layer.state()));
  BaseRecords fresh;
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    const std::vector<OwnedFd> levels = open_levels(layer.levels(i));
    const std::string upper = layer.store().part(epoch, i) + "/upper";
    const OwnedFd to(open(upper.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!to.is_open()) return layer_failure("open(" + upper + ")", errno);
    struct stat top {};
    if (fstat(levels.empty() ? to.get() : levels[0].get(), &top) == 0) {
      (void)!fchmod(to.get(), 0700);
    }
    const OwnedFd real = open_root(layer.state(), i);
    SBX_CHECK_OK(Merger(keep, layer.base(), i, real.get(), to.get(), fresh).merge(levels));
    (void)!fchmod(to.get(), top.st_mode & 07777);
  }
  SBX_CHECK_OK(merge_base(layer, keep, epoch, fresh));
  return epoch;
}

Status freeze(KeptLayer& layer) {
  LayerState& state = layer.state();
  if (state.kind == KeptKind::kCopy) {
    SBX_TRY(const std::string frozen, make_epoch(layer.store(), state));
    SBX_CHECK_OK(copy_epoch(layer, state.stack.back(), frozen));
    state.stack.insert(state.stack.end() - 1, frozen);
    return {};
  }
  if (state.stack.size() >= kHighStack) {
    // Where that cannot be it grows on.
    const Result<std::string> merged = merge_stack(layer, nullptr);
    if (merged.ok()) state.stack = {merged.value()};
  }
  SBX_TRY(const std::string live, make_epoch(layer.store(), state));
  for (std::size_t i = 0; i < state.roots.size(); ++i) {
    struct stat top {};
    const std::string was = layer.store().part(state.stack.back(), i) + "/upper";
    const std::string is = layer.store().part(live, i) + "/upper";
    if (stat(was.c_str(), &top) == 0) chmod(is.c_str(), top.st_mode & 07777);
  }
  state.stack.push_back(live);
  return carry_links(layer, 1);
}

Status start_anew(KeptLayer& layer, const Epochs& below) {
  LayerState& state = layer.state();
  SBX_TRY(const std::string live, make_epoch(layer.store(), state));
  if (state.kind == KeptKind::kCopy) {
    if (!below.empty()) {
      SBX_CHECK_OK(copy_epoch(layer, below.back(), live));
    } else {
      BaseRecords records;
      for (std::size_t i = 0; i < state.roots.size(); ++i)
        SBX_CHECK_OK(copy_real(layer, i, live, records));
      SBX_CHECK_OK(records.save(layer.store().epoch(live) + "/base"));
    }
  }
  state.stack = below;
  state.stack.push_back(live);
  return state.kind == KeptKind::kCopy ? Status() : carry_links(layer, below.size());
}

}  // namespace sbx
