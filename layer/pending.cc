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
#include "give_back.h"
#include "host_files/remove_tree.h"
#include "host_files/user_attributes.h"
#include "json/writer.h"
#include "kept/copy.h"
#include "kept/merged.h"
#include "report/json_parts.h"

namespace sbx {
namespace {

std::string pending_path(const LayerStore& store, const std::string& name) {
  return store.layer(name) + "/" + kPendingCommit;
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
  // As the copy has it from now on: a real mode that has stayed may be another.
  const auto settle = [&](const TouchedKey& key, BaseRecord& known) {
    const OwnedFd tree = open_tree(layer, epoch, key.first);
    struct stat info {};
    const bool is_there = !back && stat_beneath(tree.get(), key.second, info);
    known.stamp = is_there ? nanoseconds(info.st_ctim) : 0;
    if (is_there) known.mode = info.st_mode & 07777;
    is.add(key.first, key.second, known);
  };
  for (const auto& [key, record] : settled) {
    BaseRecord known = *record;
    // From now on no other copy of it counts.
    if (is_of_any_copy(known)) {
      const BaseRecord real = look_at_real(open_root(state, key.first).get(), key.second);
      if (is_same_content(known, real)) known.digest = real.digest;
    }
    settle(key, known);
  }
  for (const TouchedKey& key : also) {
    const OwnedFd root = open_root(state, key.first);
    BaseRecord known = look_at_real(root.get(), key.second);
    settle(key, known);
  }
  for (const auto& [key, record] : was.all()) is.add(key.first, key.second, record);
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  SBX_CHECK_OK(is.save(fresh));
  return rename(fresh.c_str(), path.c_str()) == 0 ? Status()
                                                  : layer_failure("rename(" + path + ")", errno);
}

void drop_path(int tree, const std::string& path) {
  std::string name;
  const OwnedFd parent = open_parent(tree, path, name);
  if (parent.is_open() && unlinkat(parent.get(), name.c_str(), 0) != 0) {
    unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
  }
}

// Directories on the way to a path of a copy that the layer has removed. False: no such way leads
// there.
bool make_parents(int real, int tree, const std::string& path) {
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string parent = path.substr(0, at);
    struct stat info {};
    if (stat_beneath(tree, parent, info)) {
      if (!S_ISDIR(info.st_mode)) return false;
      continue;
    }
    std::string name;
    const OwnedFd above = open_parent(tree, parent, name);
    if (!stat_beneath(real, parent, info) || !S_ISDIR(info.st_mode) || !above.is_open() ||
        mkdirat(above.get(), name.c_str(), 0700) != 0) {
      return false;
    }
    (void)!fchmodat(above.get(), name.c_str(), (info.st_mode & 0777) | 0700, 0);
  }
  return true;
}

// A path of the copy, where nothing is in its way, becomes what is real. Errors: errno.
bool copy_real(int real, int tree, const std::string& path) {
  struct stat info {};
  if (!stat_beneath(real, path, info) || !make_parents(real, tree, path)) return true;
  std::string name;
  const OwnedFd parent = open_parent(tree, path, name);
  if (!parent.is_open()) return false;
  if (S_ISDIR(info.st_mode)) {
    if (mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return false;
    const OwnedFd from(open_beneath(real, path, kDirectoryFlags));
    const OwnedFd to(openat(parent.get(), name.c_str(), kDirectoryFlags));
    if (from.is_open() && to.is_open()) copy_user_attributes(from.get(), to.get());
  } else if (S_ISLNK(info.st_mode)) {
    const OwnedFd link(open_beneath(real, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return copy_link(link.get(), "", parent.get(), name);
  } else if (S_ISREG(info.st_mode)) {
    const OwnedFd from(open_beneath(real, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const OwnedFd to(
        openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!from.is_open() || !to.is_open() || !copy_bytes(from.get(), to.get())) return false;
    give_attributes(from.get(), to.get());
  } else {
    return true;
  }
  return fchmodat(parent.get(), name.c_str(), info.st_mode & 0777, 0) == 0;
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
    drop_path(open_tree(layer, live, at->first).get(), at->second);
  }
  for (const TouchedKey& key : paths) {
    const OwnedFd tree = open_tree(layer, live, key.first);
    const OwnedFd real = open_root(layer.state(), key.first);
    if (!copy_real(real.get(), tree.get(), key.second)) {
      return layer_failure("cannot copy " + escape_control_bytes(absolute_path(layer.state(), key)),
                           errno);
    }
  }
  return {};
}

// Those that the copy does not show as they are really.
std::set<TouchedKey> differing(const KeptLayer& layer, const std::set<TouchedKey>& paths) {
  std::set<TouchedKey> out;
  for (const TouchedKey& key : paths) {
    const OwnedFd tree = open_tree(layer, layer.state().stack.back(), key.first);
    const OwnedFd real = open_root(layer.state(), key.first);
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

// What an epoch of a copy shows of the commit is the layer's own again.
Status settle_back(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                   const std::vector<Step>& given_up, const Passages& passages) {
  SBX_CHECK_OK(give_back(layer, epoch, passages));
  BaseRecords was;
  was.load(layer.store().epoch(epoch) + "/base");
  std::vector<Step> all = steps;
  // Where the real mode has stayed, the layer's own is what it first saw.
  for (Step& step : all) {
    const BaseRecord* const known = was.find(step.root, step.path);
    if (known != nullptr && known->kind == step.from.kind &&
        ((step.from.mode ^ step.to.mode) & 0777) == 0) {
      step.from.mode = known->mode;
    }
  }
  all.insert(all.end(), given_up.begin(), given_up.end());
  return settle_copy(layer, epoch, all, {}, true);
}

bool contains(const Epochs& epochs, const std::string& epoch) {
  return std::find(epochs.begin(), epochs.end(), epoch) != epochs.end();
}

std::set<TouchedKey> keys_of(const std::vector<Step>& steps) {
  std::set<TouchedKey> keys;
  for (const Step& step : steps) keys.insert({step.root, step.path});
  return keys;
}

// Of what an overlay holds.
Status keep_only(KeptLayer& layer, const KeepPath& keep) {
  SBX_TRY(const std::string rest, merge_stack(layer, keep));
  return start_anew(layer, {rest});
}

// `is_all`: nothing else is changed by an overlay.
Status forget_real(KeptLayer& layer, const std::set<TouchedKey>& paths, bool is_all) {
  if (is_all) return start_anew(layer, {});
  return keep_only(layer, [&](std::size_t root, const std::string& path) {
    return !paths.contains({root, path});
  });
}

}  // namespace

Status write_new(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const OwnedFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) return layer_failure("open(" + fresh + ")", errno);
  if (!write_all(file.get(), text)) return layer_failure("write(" + fresh + ")", errno);
  return rename(fresh.c_str(), path.c_str()) == 0 ? Status()
                                                  : layer_failure("rename(" + path + ")", errno);
}

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

void forget_epoch(const KeptLayer& layer, const std::string& epoch) {
  remove_tree(layer.store().epoch(epoch) + "/old");
  collect_garbage(layer.store());
}

Status forget_paths(KeptLayer& layer, const std::set<TouchedKey>& paths) {
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  if (layer.state().kind == KeptKind::kCopy) {
    SBX_CHECK_OK(copy_again(layer, paths));
    SBX_CHECK_OK(settle_copy(layer, layer.state().stack.back(), {}, paths, false));
  } else {
    // What lies in a directory that is forgotten is no change where an epoch below made it and the
    // last took it away.
    std::map<std::size_t, std::set<std::string>> forgotten;
    for (const auto& [root, path] : paths) forgotten[root].insert(path);
    SBX_CHECK_OK(keep_only(layer, [&](std::size_t root, const std::string& path) {
      return !paths.contains({root, path}) && !lies_below_any(path, forgotten[root]);
    }));
  }
  SBX_CHECK_OK(layer.save());
  collect_garbage(layer.store());
  return {};
}

bool takes_all(const TouchedMap& touched, const std::vector<Step>& steps,
               const std::vector<Step>& given_up) {
  std::set<TouchedKey> taken = keys_of(steps);
  taken.merge(keys_of(given_up));
  return std::all_of(touched.begin(), touched.end(),
                     [&](const auto& row) { return taken.contains(row.first); });
}

Status forget_settled(KeptLayer& layer, const TouchedMap& touched,
                      const std::vector<Step>& settled) {
  const bool is_all = takes_all(touched, {}, settled);
  if (settled.empty() && !is_all) return {};
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  if (layer.state().kind == KeptKind::kCopy) {
    return settle_copy(layer, layer.state().stack.back(), {}, keys_of(settled), false);
  }
  SBX_CHECK_OK(forget_real(layer, keys_of(settled), is_all));
  SBX_CHECK_OK(layer.save());
  collect_garbage(layer.store());
  return {};
}

Status finish_commit(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                     const std::vector<Step>& given_up, bool is_all) {
  LayerState& state = layer.state();
  if (state.committed == epoch) return drop_pending(layer);
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  const std::set<TouchedKey> also = keys_of(given_up);
  if (state.kind == KeptKind::kCopy) {
    const std::set<TouchedKey> forgotten = differing(layer, also);
    if (!forgotten.empty()) SBX_CHECK_OK(copy_again(layer, forgotten));
    SBX_CHECK_OK(settle_copy(layer, state.stack.back(), steps, also, false));
  } else {
    std::set<TouchedKey> real = also;
    real.merge(keys_of(steps));
    SBX_CHECK_OK(forget_real(layer, real, is_all));
  }
  SBX_CHECK_OK(write_new(labels_path(layer, epoch), std::to_string(state.labels.size())));
  state.committed = epoch;
  SBX_CHECK_OK(layer.save());
  SBX_CHECK_OK(drop_pending(layer));
  collect_garbage(layer.store());
  return {};
}

Result<Branches> find_branches(const KeptLayer& layer, const std::string& epoch) {
  Branches out;
  const LayerStore& store = layer.store();
  for (const std::string& name : layer_names(store)) {
    const Result<LayerState> state = read_layer_state(store, name);
    if (name == layer.name() || !state.ok() || !contains(state.value().shown, epoch)) continue;
    Result<std::shared_ptr<KeptLayer>> branch = KeptLayer::find(store, name, false);
    const bool is_used = branch.ok() ? read_pending(store, name).has_value()
                                     : branch.error().code == ErrorCode::kLayerInUse;
    if (is_used) {
      return Error{ErrorCode::kLayerInUse,
                   "the layer '" + escape_control_bytes(name) +
                       "', branched off since the commit, is in use",
                   "layer", "wait for its run or session to end, and finish its commit"};
    }
    if (!branch.ok()) return branch.error();
    if (contains(branch.value()->state().shown, epoch)) out.push_back(std::move(branch).value());
  }
  return out;
}

Status finish_undo(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                   const std::vector<Step>& given_up, const Branches& branches) {
  LayerState& state = layer.state();
  SBX_TRY(const OwnedFd lock, lock_store(layer.store()));
  if (state.committed != epoch) {
    // One that had not ended: the layer still holds everything.
    SBX_CHECK_OK(drop_pending(layer));
    forget_epoch(layer, epoch);
    return {};
  }
  Passages lost = passages(layer.store(), epoch, given_up, steps.size());
  std::string again;
  if (state.kind == KeptKind::kOverlay) {
    SBX_TRY(again, make_epoch(layer.store(), state));
    lost.merge(passages(layer.store(), epoch, steps));
    SBX_CHECK_OK(fill_epoch(layer, again, lost));
  }
  // With names besides its own one and that in the epoch: they are together only above that.
  const bool is_linked = std::any_of(lost.begin(), lost.end(), [](const auto& row) {
    struct stat info {};
    return lstat(row.second.kept.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 2;
  });
  const auto take_back = [&](KeptLayer& shows, std::size_t first_label) -> Status {
    std::vector<Epochs*> stacks = {&shows.state().stack};
    // A checkpoint since the commit has shown the same through the real files.
    for (std::size_t i = first_label; i < shows.state().labels.size(); ++i) {
      stacks.push_back(&shows.state().labels[i].second);
    }
    for (Epochs* stack : stacks) {
      if (state.kind == KeptKind::kOverlay) {
        stack->insert(stack->begin(), again);
      } else {
        SBX_CHECK_OK(settle_back(shows, stack->back(), steps, given_up, lost));
      }
    }
    if (state.kind == KeptKind::kOverlay && is_linked) {
      return start_anew(shows, Epochs(shows.state().stack));
    }
    return {};
  };
  for (const std::shared_ptr<KeptLayer>& branch : branches) {
    SBX_CHECK_OK(take_back(*branch, 0));
    std::erase(branch->state().shown, epoch);
    SBX_CHECK_OK(branch->save());
  }
  SBX_CHECK_OK(take_back(layer, labels_before(layer, epoch)));
  state.committed.clear();
  SBX_CHECK_OK(layer.save());
  SBX_CHECK_OK(drop_pending(layer));
  forget_epoch(layer, epoch);
  return {};
}

Done commit_answer(const Action& action, const LayerState& state, const std::string& what,
                   const std::vector<Step>& steps, const std::vector<std::string>& warnings) {
  std::map<std::string, std::pair<const Step*, const Step*>> paths;  // the first and the last
  for (const Step& step : steps) {
    const std::string path = absolute_path(state, {step.root, step.path});
    paths.try_emplace(path, &step, &step).first->second.second = &step;
  }
  std::map<std::string, std::string> kinds;
  for (const auto& [path, ends] : paths) {
    // A directory that was only open in between is none.
    if (is_in_state(ends.first->from, ends.second->to)) continue;
    kinds.emplace(path, change_kind(ends.first->from, ends.second->to));
  }
  Answer answer;
  for (const std::string& warning : warnings) {
    answer.note += "warning: " + escape_control_bytes(warning) + "\n";
  }
  if (!action.json) {
    for (const auto& [path, kind] : kinds)
      answer.text += kind + " " + escape_control_bytes(path) + "\n";
    answer.note += (action.dry_run ? "would be " : "") + what + ": " +
                   std::to_string(kinds.size()) + " paths\n";
    return answer;
  }
  JsonWriter json(answer.text);
  json.begin_object();
  write_member(json, "name", action.name);
  json.key(what);
  json.begin_array();
  for (const auto& [path, kind] : kinds) {
    json.begin_object();
    write_member(json, "path", path);
    write_member(json, "kind", kind);
    json.end_object();
  }
  json.end_array();
  json.key("dry_run");
  json.boolean(action.dry_run);
  write_strings(json, "warnings", warnings);
  json.end_object();
  answer.text += '\n';
  return answer;
}

}  // namespace sbx
