// SPDX-License-Identifier: Apache-2.0
// Each end is one rename of the layer's state.
#include "pending.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "epochs.h"
#include "host_files/remove_tree.h"
#include "kept/copy.h"
#include "kept/merged.h"

namespace sbx {
namespace {

std::string pending_path(const LayerStore& store, const std::string& name) {
  return store.layer(name) + "/" + kPendingCommit;
}

Status write_new(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const OwnedFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) return layer_failure("open(" + fresh + ")", errno);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t size = write(file.get(), rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return layer_failure("write(" + fresh + ")", size < 0 ? errno : ENOSPC);
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  return rename(fresh.c_str(), path.c_str()) == 0 ? Status()
                                                  : layer_failure("rename(" + path + ")", errno);
}

Status drop_pending(KeptLayer& layer) {
  const std::string path = pending_path(layer.store(), layer.name());
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return layer_failure("unlink(" + path + ")", errno);
  }
  return {};
}

// In a copy the records alone tell what is changed.
Status settle_copy(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                   const std::set<TouchedKey>& also, bool back) {
  LayerState& state = layer.state();
  const std::string path = layer.store().epoch(epoch) + "/base";
  BaseRecords was;
  was.load(path);
  BaseRecords is;
  std::map<TouchedKey, const BaseRecord*> settled;
  for (const Step& step : steps) {
    const auto [at, is_new] = settled.try_emplace({step.root, step.path}, &step.to);
    if (back && is_new) at->second = &step.from;
    if (!back) at->second = &step.to;
  }
  const auto stamp_of = [&](const TouchedKey& key) -> std::int64_t {
    const OwnedFd tree(open((layer.store().part(epoch, key.first) + "/tree").c_str(),
                            O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat info {};
    if (back || !stat_beneath(tree.get(), key.second, info)) return 0;
    return std::int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec;
  };
  for (const auto& [key, record] : settled) {
    BaseRecord known = *record;
    known.stamp = stamp_of(key);
    is.add(key.first, key.second, known);
  }
  for (const TouchedKey& key : also) {
    const OwnedFd root(open(state.roots.at(key.first).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    BaseRecord known = look_at_real(root.get(), key.second);
    known.stamp = stamp_of(key);
    is.add(key.first, key.second, known);
  }
  for (const auto& [key, record] : was.all()) is.add(key.first, key.second, record);
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  SBX_CHECK_OK(is.save(fresh));
  return rename(fresh.c_str(), path.c_str()) == 0 ? Status()
                                                  : layer_failure("rename(" + path + ")", errno);
}

// Directories on the way to a path of a copy that the layer has removed. False: no such way leads
// there.
bool make_parents(const std::string& real, const std::string& tree, const std::string& path) {
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string parent = "/" + path.substr(0, at);
    struct stat info {};
    if (lstat((tree + parent).c_str(), &info) == 0) {
      if (!S_ISDIR(info.st_mode)) return false;
    } else if (lstat((real + parent).c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
               mkdir((tree + parent).c_str(), 0700) != 0) {
      return false;
    } else {
      chmod((tree + parent).c_str(), (info.st_mode & 0777) | 0700);
    }
  }
  return true;
}

// In a copy of the copy each path becomes what is real: until the state names that, the layer is as
// it was.
Status copy_again(KeptLayer& layer, const std::set<TouchedKey>& paths) {
  Epochs& stack = layer.state().stack;
  SBX_CHECK_OK(start_anew(layer, Epochs(stack)));
  stack.erase(stack.end() - 2);
  layer.drop_base();
  const std::string live = stack.back();
  for (auto at = paths.rbegin(); at != paths.rend(); ++at) {
    const std::string tree = layer.store().part(live, at->first) + "/tree/" + at->second;
    if (unlink(tree.c_str()) != 0) rmdir(tree.c_str());
  }
  for (const TouchedKey& key : paths) {
    const std::string real = absolute_path(layer.state(), key);
    const std::string whole = layer.store().part(live, key.first) + "/tree";
    const std::string tree = whole + "/" + key.second;
    struct stat info {};
    if (lstat(real.c_str(), &info) != 0 ||
        !make_parents(layer.state().roots.at(key.first), whole, key.second)) {
      continue;
    }
    bool is_made = true;
    if (S_ISDIR(info.st_mode)) {
      is_made = mkdir(tree.c_str(), 0700) == 0 || errno == EEXIST;
    } else if (S_ISLNK(info.st_mode)) {
      is_made = symlink(read_link(AT_FDCWD, real).c_str(), tree.c_str()) == 0;
    } else if (S_ISREG(info.st_mode)) {
      const OwnedFd from(open(real.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      const OwnedFd to(open(tree.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      is_made = from.is_open() && to.is_open() && copy_bytes(from.get(), to.get());
      if (is_made) copy_user_attributes(from.get(), to.get());
    }
    if (!is_made) return layer_failure("cannot copy " + real, errno);
    if (!S_ISLNK(info.st_mode)) chmod(tree.c_str(), info.st_mode & 0777);
  }
  return {};
}

// Those that the copy does not show as they are really.
std::set<TouchedKey> differing(const KeptLayer& layer, const std::set<TouchedKey>& paths) {
  std::set<TouchedKey> out;
  for (const TouchedKey& key : paths) {
    const std::string whole = layer.store().part(layer.state().stack.back(), key.first) + "/tree";
    const OwnedFd tree(open(whole.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const OwnedFd real(
        open(layer.state().roots.at(key.first).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!is_same_file(look_at_real(tree.get(), key.second), look_at_real(real.get(), key.second))) {
      out.insert(key);
    }
  }
  return out;
}

// How many checkpoints there were at the end of the commit: labels are only ever added.
std::string labels_path(const KeptLayer& layer, const std::string& epoch) {
  return layer.store().epoch(epoch) + "/labels";
}

std::size_t labels_before(const KeptLayer& layer, const std::string& epoch) {
  const std::size_t all = layer.state().labels.size();
  const Result<std::string> text = read_file(labels_path(layer, epoch), 32);
  const auto count = text.ok() ? parse_count(text.value(), INT64_MAX) : std::nullopt;
  return count ? std::min(static_cast<std::size_t>(*count), all) : all;
}

// What the commit made real, as an epoch of the layer.
Status rebuild(KeptLayer& layer, const std::string& committed, const std::string& epoch,
               const std::vector<Step>& steps) {
  const LayerStore& store = layer.store();
  BaseRecords base;
  std::map<std::string, mode_t> modes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const std::string upper = store.part(epoch, step.root) + "/upper";
    const std::string path = upper + "/" + step.path;
    base.add(step.root, step.path, step.from);
    for (std::size_t at = path.find('/', upper.size() + 1); at != std::string::npos;
         at = path.find('/', at + 1)) {
      const std::string parent = path.substr(0, at);
      struct stat real {};
      if (mkdir(parent.c_str(), 0700) != 0) continue;
      const std::string shown = layer.state().roots.at(step.root) + parent.substr(upper.size());
      modes.try_emplace(parent, stat(shown.c_str(), &real) == 0 ? real.st_mode & 0777 : 0755);
    }
    bool is_made = true;
    if (step.to.kind == BaseRecord::kAbsent) {
      // A directory that was removed hides what was in it.
      remove_tree(path);
      is_made = make_whiteout(AT_FDCWD, path);
    } else if (step.to.kind == BaseRecord::kDirectory) {
      struct stat info {};
      if (lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) unlink(path.c_str());
      is_made = mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
      modes.insert_or_assign(path, step.to.mode & 0777);
    } else {
      const std::string kept = store.epoch(committed) + "/new/" + std::to_string(i);
      // In the place of a directory whose entries have gone.
      if (unlink(path.c_str()) != 0) remove_tree(path);
      is_made = linkat(AT_FDCWD, kept.c_str(), AT_FDCWD, path.c_str(), 0) == 0;
    }
    if (!is_made) return layer_failure("cannot keep " + path, errno);
  }
  // What lies in a directory before the directory, which may close.
  for (auto at = modes.rbegin(); at != modes.rend(); ++at) {
    struct stat info {};
    if (lstat(at->first.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      chmod(at->first.c_str(), at->second);
    }
  }
  return base.save(store.epoch(epoch) + "/base");
}

}  // namespace

std::optional<Pending> read_pending(const LayerStore& store, const std::string& name) {
  const Result<std::string> text = read_file(pending_path(store, name), 64);
  if (!text.ok()) return std::nullopt;
  return Pending{text.value()};
}

Status write_pending(KeptLayer& layer, const std::string& epoch, const std::string& journal) {
  if (!journal.empty()) {
    SBX_CHECK_OK(write_new(layer.store().epoch(epoch) + "/journal", journal));
  }
  return write_new(pending_path(layer.store(), layer.name()), epoch);
}

Status forget_paths(KeptLayer& layer, const std::set<TouchedKey>& paths) {
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  if (layer.state().kind == KeptKind::kCopy) {
    SBX_CHECK_OK(copy_again(layer, paths));
    SBX_CHECK_OK(settle_copy(layer, layer.state().stack.back(), {}, paths, false));
  } else {
    SBX_TRY(const std::string rest,
            merge_stack(layer, [&](std::size_t root, const std::string& path) {
              return !paths.contains({root, path});
            }));
    SBX_CHECK_OK(start_anew(layer, {rest}));
  }
  SBX_CHECK_OK(layer.save());
  collect_garbage(layer.store());
  return {};
}

Status finish_commit(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                     const std::set<TouchedKey>& also) {
  LayerState& state = layer.state();
  if (state.committed == epoch) return drop_pending(layer);
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  if (state.kind == KeptKind::kCopy) {
    const std::set<TouchedKey> forgotten = differing(layer, also);
    if (!forgotten.empty()) SBX_CHECK_OK(copy_again(layer, forgotten));
    SBX_CHECK_OK(settle_copy(layer, state.stack.back(), steps, also, false));
  } else {
    std::set<TouchedKey> real = also;
    for (const Step& step : steps) real.insert({step.root, step.path});
    SBX_TRY(const std::string rest,
            merge_stack(layer, [&](std::size_t root, const std::string& path) {
              return !real.contains({root, path});
            }));
    SBX_CHECK_OK(start_anew(layer, {rest}));
  }
  SBX_CHECK_OK(write_new(labels_path(layer, epoch), std::to_string(state.labels.size())));
  state.committed = epoch;
  SBX_CHECK_OK(layer.save());
  SBX_CHECK_OK(drop_pending(layer));
  collect_garbage(layer.store());
  return {};
}

Status finish_undo(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps) {
  LayerState& state = layer.state();
  // One that had not ended: the layer still holds everything.
  if (state.committed != epoch) return drop_pending(layer);
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  if (state.kind == KeptKind::kCopy) {
    SBX_CHECK_OK(settle_copy(layer, state.stack.back(), steps, {}, true));
    for (std::size_t i = labels_before(layer, epoch); i < state.labels.size(); ++i) {
      SBX_CHECK_OK(settle_copy(layer, state.labels[i].second.back(), steps, {}, true));
    }
  } else {
    SBX_TRY(const std::string again, make_epoch(layer.store(), state));
    SBX_CHECK_OK(rebuild(layer, epoch, again, steps));
    state.stack.insert(state.stack.begin(), again);
    // A checkpoint since the commit has shown the same through the real files.
    for (std::size_t i = labels_before(layer, epoch); i < state.labels.size(); ++i) {
      Epochs& frozen = state.labels[i].second;
      frozen.insert(frozen.begin(), again);
    }
  }
  state.committed.clear();
  SBX_CHECK_OK(layer.save());
  SBX_CHECK_OK(drop_pending(layer));
  collect_garbage(layer.store());
  return {};
}

}  // namespace sbx
