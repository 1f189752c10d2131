// SPDX-License-Identifier: Apache-2.0
// A name in the layer is told by its inode, one of a real file by what it was and is.
#include "links.h"

#include <fcntl.h>

#include <set>

#include "base/files.h"
#include "base/utf8.h"
#include "kept/merged.h"

namespace sbx {

Links::Links(const KeptLayer& layer, const std::vector<OwnedFd>& roots, const TouchedMap& touched,
             TouchedMap unchanged, MayLink may_link)
    : layer_(layer),
      roots_(roots),
      unchanged_(std::move(unchanged)),
      may_link_(std::move(may_link)) {
  for (const auto& [key, its] : touched) {
    if (S_ISREG(its.info.st_mode)) ++groups_[{its.info.st_dev, its.info.st_ino}].all;
  }
  for (const auto& [key, its] : unchanged_) {
    Group& group = groups_[{its.info.st_dev, its.info.st_ino}];
    ++group.all;
    group.unchanged.push_back(key);
  }
}

void Links::note(const Step& step, const Touched& touched) {
  const TouchedKey key{step.root, step.path};
  struct stat real {};
  const bool is_real = step.from.kind == BaseRecord::kFile &&
                       stat_beneath(roots_.at(step.root).get(), step.path, real);
  const Number its{real.st_dev, real.st_ino};
  const bool stays = is_real && is_same_content(step.from, step.to);  // in another mode
  if (step.to.kind == BaseRecord::kFile && touched.info.st_nlink > 1) {
    const Number number{touched.info.st_dev, touched.info.st_ino};
    Group& group = groups_[number];
    if (!group.first) find_real(group, step.to);
    if (stays && !group.real) {
      group.first = key;
      group.real = its;
    }
    if (!group.first) group.first = key;
    numbers_.emplace(key, number);
    if (!stays || group.real == its) ++group.taken;
  }
  if (!is_real || stays || real.st_nlink < 2) return;
  Names& names = names_[its];
  names.all = real.st_nlink;
  ++names.taken;
  if (step.to.kind == BaseRecord::kFile) {
    names.changed.push_back(absolute_path(layer_.state(), key));
  }
}

// Those names that are one real file, as the layer has it.
void Links::find_real(Group& group, const BaseRecord& wanted) {
  for (const TouchedKey& key : group.unchanged) {
    const Touched& touched = unchanged_.at(key);
    const int root = roots_.at(key.first).get();
    struct stat info {};
    if (!may_link_(key, touched) || !stat_beneath(root, key.second, info)) continue;
    if (!group.first) {
      const BaseRecord real = look_at_real(root, key.second);
      if (!is_in_state(wanted, real)) continue;
      group.real = {info.st_dev, info.st_ino};
      group.first = key;
      Touched& its = real_.emplace(key, touched).first->second;
      its.base = real;
    }
    if (group.real == Number(info.st_dev, info.st_ino)) ++group.taken;
  }
}

const TouchedKey* Links::first_of(const TouchedKey& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return nullptr;
  const TouchedKey& first = *groups_.at(found->second).first;
  return first == key ? nullptr : &first;
}

void Links::warn(std::vector<std::string>& warnings) {
  // A name that is replaced is parted from the real file's other names.
  if (!names_.empty()) leave_out_kept();
  std::set<std::string> parted;
  for (const auto& [number, names] : names_) {
    if (names.taken >= names.all) continue;
    for (const std::string& path : names.changed) {
      warnings.push_back("its other names keep the former content: " + repair_utf8(path));
      parted.insert(path);
    }
  }
  for (const auto& [number, group] : groups_) {
    if (!group.first || group.taken >= group.all) continue;
    const std::string path = absolute_path(layer_.state(), *group.first);
    if (parted.contains(path)) continue;  // said already
    warnings.push_back("its other names in the layer are names of it no more: " +
                       repair_utf8(path));
  }
}

// What is kept for an undo is no other name.
void Links::leave_out_kept() {
  Listing pool(layer_.store().pool());
  while (const dirent* entry = pool.is_open() ? pool.next() : nullptr) {
    Listing old(layer_.store().epoch(entry->d_name) + "/old");
    while (const dirent* file = old.is_open() ? old.next() : nullptr) {
      struct stat info {};
      if (fstatat(old.fd(), file->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const auto found = names_.find({info.st_dev, info.st_ino});
      if (found != names_.end()) --found->second.all;
    }
  }
}

}  // namespace sbx
