// SPDX-License-Identifier: Apache-2.0
// How a layer is made, what it touches, what it changes.
#include "kept/kept_layer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"
#include "base/utf8.h"
#include "host/globs.h"
#include "host_files/changes.h"
#include "host_files/remove_tree.h"
#include "kept/copy.h"
#include "kept/look.h"
#include "kept/merged.h"

namespace sbx {
namespace {

std::int64_t made_at(int root, const std::string& path) {
  const OwnedFd handle(open_beneath(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct statx info {};
  if (!handle.is_open() || statx(handle.get(), "", AT_EMPTY_PATH, STATX_BTIME, &info) != 0 ||
      (info.stx_mask & STATX_BTIME) == 0) {
    return 0;
  }
  return nanoseconds(info.stx_btime);
}

// When the entry came to be in the layer, at the earliest; what is not known is long ago. It may be
// older than its name: all removals of a run are one file, and what is moved has been made before.
std::int64_t touched_at(int root, const std::string& path, std::int64_t begun_ns) {
  const std::size_t slash = path.rfind('/');
  const std::int64_t parent_ns = slash == path.npos ? 0 : made_at(root, path.substr(0, slash));
  return std::max({made_at(root, path), parent_ns, begun_ns});
}

// Whether another directory was put in the place of the real one since: that changes its own time
// alone, while its entries come and go by both. What lies in it may be as old as it likes.
bool was_moved(int real, const std::string& path, std::int64_t touched_ns) {
  struct stat info {};
  if (!stat_beneath(real, path, info) || !S_ISDIR(info.st_mode)) return false;
  const std::int64_t changed_ns = nanoseconds(info.st_ctim);
  return changed_ns >= touched_ns && changed_ns != nanoseconds(info.st_mtim);
}

// Whether the layer's entry is what the real file is but for its times.
bool says_the_same(int real, const struct stat& lower, int level, const MergedEntry& entry) {
  if (((lower.st_mode ^ entry.info.st_mode) & (S_IFMT | 07777)) != 0) return false;
  if (!S_ISREG(lower.st_mode)) {
    return is_same_content(look_at_real(real, entry.path), look_at_real(level, entry.path));
  }
  // Most files are told by their size, and not read.
  return lower.st_size == entry.info.st_size &&
         is_same_file_in(real, level, entry.path, lower.st_size);
}

bool lies_in(const std::string& path, const std::string& directory) {
  return !directory.empty() && is_below(path, directory);
}

OwnedFd open_directory(const std::string& path) {
  return OwnedFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// A process that is about to let go may still have a copy of the descriptor of one that was killed.
Result<OwnedFd> lock_to_use(const LayerStore& store, const std::string& name, bool make) {
  Result<OwnedFd> lock = lock_layer(store, name, make);
  for (int looks = 0; looks < 20 && !lock.ok() && lock.error().code == ErrorCode::kLayerInUse;
       ++looks) {
    usleep(5000);
    lock = lock_layer(store, name, make);
  }
  return lock;
}

// Those that a layer can lie over. Errors: kPathRefused.
Result<std::vector<std::string>> layer_roots(const View& places, const std::string& store) {
  std::vector<std::string> roots;
  for (const ViewRoot& root : places.roots) {
    if (root.access != Access::kReadWrite) continue;
    const auto refused = [&](const std::string& why, const std::string& hint) {
      return Error{ErrorCode::kPathRefused, "no layer can lie over " + root.node.path + ": " + why,
                   root.where, hint};
    };
    if (root.node.path == "/") return refused("it is the whole system", "name narrower roots");
    if (root.node.kind == NodeKind::kFile) {
      return refused("it is a file", "make its directory the writable root");
    }
    if (root.node.kind != NodeKind::kDirectory || is_part_of_another(root, places)) continue;
    if (is_below(store, root.node.path)) {
      return refused("the layers themselves are kept in it, in " + store,
                     "work in a narrower directory, or set XDG_STATE_HOME to one outside");
    }
    roots.push_back(root.node.path);
  }
  return roots;
}

// Why no overlay can lie over one of them; empty: it can.
std::string obstacle_over(const LayerStore& store, const std::vector<std::string>& roots,
                          RootLooks* looks) {
  std::string obstacle = store.may_overlay ? "" : kNoUpper;
  RootLooks own;
  RootLooks& known = looks == nullptr ? own : *looks;
  for (auto root = roots.begin(); obstacle.empty() && root != roots.end(); ++root) {
    const auto [look, is_new] = known.try_emplace(*root);
    if (is_new) look->second = overlay_obstacle(*root);
    obstacle = look->second;
  }
  return obstacle;
}

void add_new(std::vector<std::string>& to, const std::string& path) {
  if (std::find(to.begin(), to.end(), path) == to.end()) to.push_back(path);
}

}  // namespace

Result<std::shared_ptr<KeptLayer>> KeptLayer::open(const Environment& environment,
                                                   const Policy& policy, const View& places,
                                                   RootLooks* looks, int owner_pidfd) {
  std::string name = policy.sandbox.layer;
  if (policy.sandbox.each_layer != EachLayer::kNone) {
    SBX_TRY(const std::string own, new_epoch_name());
    name = "run-" + own;
  }
  SBX_TRY(LayerStore store, open_layer_store(environment, policy.sandbox.workspace));
  store.owner_pidfd = owner_pidfd;
  SBX_TRY(const std::vector<std::string> roots, layer_roots(places, store.directory));
  std::shared_ptr<KeptLayer> layer(new KeptLayer(std::move(store), name));
  SBX_TRY(layer->lock_, lock_to_use(layer->store_, name, true));
  const Status state = layer->reload();
  if (access((layer->store_.layer(name) + "/" + kPendingCommit).c_str(), F_OK) == 0) {
    return Error{ErrorCode::kLayerInUse, "a commit of the layer is unfinished", "--layer",
                 "sbx-run layer commit NAME finishes it, with --undo it is taken back"};
  }
  if (state.ok()) {
    // A run that could only read has made it.
    if (layer->state_.roots.empty() && !roots.empty()) layer->choose_kind(roots, looks);
    if (!roots.empty()) layer->remember(places);
    SBX_CHECK_OK(layer->add_roots(policy, roots, places));
  } else if (state.error().code != ErrorCode::kLayerNotFound) {
    return state.error();
  } else {
    SBX_TRY(const LayerStore place, open_layer_store(environment, policy.sandbox.workspace));
    if (place.directory != layer->store_.directory) {
      rmdir_layer(layer->store_, name);
      return open(environment, policy, places, looks, owner_pidfd);
    }
    if (Status made = layer->make(policy, roots, places, looks); !made.ok()) {
      throw_layer_away(layer->store_, name, layer->state_.stack);
      return made.error();
    }
  }
  struct stat info {};
  LayerState& known = layer->state_;
  if (stat(known.workspace.c_str(), &info) == 0 &&
      (info.st_dev != known.dev || info.st_ino != known.ino)) {
    layer->warnings_.push_back("layer: " + known.workspace +
                               " is another directory than at the layer's last run");
    known.dev = info.st_dev;
    known.ino = info.st_ino;
  }
  return layer;
}

Result<KeptKind> KeptLayer::kind_of(const Environment& environment, const Policy& policy,
                                    const View& places) {
  SBX_TRY(const LayerStore store, open_layer_store(environment, policy.sandbox.workspace));
  SBX_TRY(const std::vector<std::string> roots, layer_roots(places, store.directory));
  const Result<LayerState> state = read_layer_state(store, policy.sandbox.layer);
  if (state.ok() && (roots.empty() || !state.value().roots.empty())) return state.value().kind;
  if (!state.ok() && state.error().code != ErrorCode::kLayerNotFound) return state.error();
  return obstacle_over(store, roots, nullptr).empty() ? KeptKind::kOverlay : KeptKind::kCopy;
}

Result<std::shared_ptr<KeptLayer>> KeptLayer::find(const LayerStore& store, const std::string& name,
                                                   bool only_looks) {
  std::shared_ptr<KeptLayer> layer(new KeptLayer(store, name));
  if (!only_looks) {
    SBX_TRY(layer->lock_, lock_to_use(store, name, false));
  }
  SBX_CHECK_OK(layer->reload());
  return layer;
}

// PID 1 of a run that ends may still have a copy of the descriptor.
KeptLayer::~KeptLayer() {
  if (lock_.is_open()) flock(lock_.get(), LOCK_UN);
}

Status KeptLayer::enter() {
  if (is_busy_) {
    return Error{
        ErrorCode::kLayerInUse,
        "another command of this session runs in the layer '" + escape_control_bytes(name_) + "'",
        "layer", "wait for its end"};
  }
  is_busy_ = true;
  return {};
}

Status KeptLayer::reload() {
  SBX_TRY(state_, read_layer_state(store_, name_));
  saved_ = state_;
  drop_base();
  return {};
}

Status KeptLayer::save() {
  if (state_ == saved_) return {};
  SBX_CHECK_OK(write_layer_state(store_, name_, state_));
  saved_ = state_;
  return {};
}

void KeptLayer::drop_base() {
  base_ = {};
  has_base_ = false;
}

void KeptLayer::choose_kind(const std::vector<std::string>& roots, RootLooks* looks) {
  const std::string obstacle = obstacle_over(store_, roots, looks);
  state_.kind = obstacle.empty() ? KeptKind::kOverlay : KeptKind::kCopy;
  if (!obstacle.empty()) {
    warnings_.push_back("layer: a copy of the tree as it is now, since " +
                        escape_control_bytes(obstacle));
  }
}

Status KeptLayer::make(const Policy& policy, const std::vector<std::string>& roots,
                       const View& places, RootLooks* looks) {
  state_.is_thrown_away = policy.sandbox.each_layer == EachLayer::kThrownAway;
  state_.workspace = policy.sandbox.workspace;
  state_.created_s = time(nullptr);
  state_.roots = roots;
  struct stat info {};
  if (stat(state_.workspace.c_str(), &info) == 0) {
    state_.dev = info.st_dev;
    state_.ino = info.st_ino;
  }
  choose_kind(roots, looks);
  if (!roots.empty()) remember(places);
  SBX_TRY(const OwnedFd lock, lock_store(store_));
  // A run that was killed may have left a part of a copy.
  if (state_.kind == KeptKind::kCopy) collect_garbage(store_);
  SBX_TRY(const std::string epoch, make_epoch(store_, state_));
  state_.stack = {epoch};
  if (state_.kind == KeptKind::kCopy) {
    for (std::size_t i = 0; i < roots.size(); ++i)
      SBX_CHECK_OK(copy_root(policy, i, places, base_));
    has_base_ = true;
    SBX_CHECK_OK(base_.save(store_.epoch(epoch) + "/base"));
  }
  return save();
}

void KeptLayer::throw_away() {
  throw_layer_away(store_, name_, state_.stack);
  lock_ = OwnedFd();
}

// The tree as it is now, into the epoch that is written to.
Status KeptLayer::copy_root(const Policy& policy, std::size_t root, const View& places,
                            BaseRecords& records) {
  TreeCopy copy;
  copy.root = root;
  copy.owner_pidfd = store_.owner_pidfd;
  for (const ViewRoot& place : places.roots) {
    // What a root of its own is mounted over has to be there; of a socket nothing else would be.
    const bool is_empty = place.access == Access::kNone || place.node.kind == NodeKind::kSocket;
    if (is_empty && lies_in(place.path(), state_.roots[root])) {
      copy.hidden.insert(place.path().substr(state_.roots[root].size() + 1));
    }
  }
  if (const auto& most = policy.sandbox.limits.layer_mb) copy.most_bytes = *most << 20;
  SBX_CHECK_OK(copy_tree(state_.roots[root], store_.part(state_.stack.back(), root) + "/tree", copy,
                         records));
  if (copy.left_out > 0) {
    warnings_.push_back("layer: not in the copy (it cannot be read, or is a socket or a device): " +
                        state_.roots[root] + "/" + escape_control_bytes(copy.first_left_out) +
                        and_more(copy.left_out - 1));
  }
  return {};
}

Status KeptLayer::add_roots(const Policy& policy, const std::vector<std::string>& roots,
                            const View& places) {
  const bool is_overlay = state_.kind == KeptKind::kOverlay && !state_.roots.empty();
  for (const std::string& root : roots) {
    const auto holds = [&](const std::string& known) { return is_below(root, known); };
    if (std::any_of(state_.roots.begin(), state_.roots.end(), holds)) continue;
    // A layer has one kind, and the kernel's overlay would show a part of this root otherwise.
    const std::string obstacle = is_overlay ? overlay_obstacle(root) : "";
    if (!obstacle.empty()) {
      return Error{ErrorCode::kPathRefused,
                   "an overlay, as this layer is, cannot lie over " + root + ": " +
                       escape_control_bytes(obstacle),
                   "--layer", "take another layer for it, which will be a copy"};
    }
    const std::size_t index = state_.roots.size();
    const std::string part = store_.part(state_.stack.back(), index);
    remove_tree(part);  // a run was killed while it made that
    state_.roots.push_back(root);
    SBX_CHECK_OK(make_part(store_, state_.stack.back(), state_, index));
    if (state_.kind != KeptKind::kCopy) continue;
    BaseRecords records;
    SBX_CHECK_OK(copy_root(policy, index, places, records));
    SBX_CHECK_OK(records.save(store_.epoch(state_.stack.back()) + "/base"));
  }
  return {};
}

// What a commit must not touch, whoever asks for it. A run that may only read fills nothing.
void KeptLayer::remember(const View& places) {
  for (const ViewProtect& protect : places.protects) {
    if (!protect.is_only_reported()) add_new(state_.protects, protect.node.path);
  }
  for (const auto* const roots : {&places.roots, &places.absent}) {
    for (const ViewRoot& root : *roots) {
      if (root.access == Access::kNone) add_new(state_.hidden, root.path());
      if (root.access != Access::kReadOnly) continue;
      // What lies in no writable root is none that this run can fill.
      const ViewRoot* const holder =
          root.path() == "/" ? nullptr
                             : deepest_at(places.roots, parent_of(root.path()), &ViewRoot::path);
      if (holder != nullptr && holder->access == Access::kReadWrite) {
        add_new(state_.read_only, root.path());
      }
    }
  }
  for (const View::Pattern& pattern : places.patterns) {
    add_new(pattern.hides ? state_.hidden_globs : state_.protect_globs,
            whole_glob(pattern.glob.base, pattern.glob.pattern));
  }
  // What an earlier run wrote in a root of its own, and this one does not see.
  for (const std::string& root : state_.roots) {
    const ViewRoot* const now = deepest_at(places.roots, root, &ViewRoot::path);
    if (now != nullptr && now->access == Access::kNone) add_new(state_.hidden, root);
  }
}

ViewLayer KeptLayer::view() const {
  ViewLayer out;
  out.store = store_.pool();
  const std::string& live = state_.stack.back();
  for (std::size_t i = 0; i < state_.roots.size(); ++i) {
    ViewLayer::Part part;
    part.root = state_.roots[i];
    const std::string index = "/" + std::to_string(i);
    if (state_.kind == KeptKind::kCopy) {
      part.copy = store_.part(live, i) + "/tree";
    } else {
      part.upper = live + index + "/upper";
      part.work = live + index + "/work";
      for (auto at = state_.stack.rbegin() + 1; at != state_.stack.rend(); ++at) {
        struct stat info {};
        const std::string lower = *at + index + "/upper";
        if (stat((store_.pool() + "/" + lower).c_str(), &info) == 0) part.lowers.push_back(lower);
      }
    }
    out.parts.push_back(std::move(part));
  }
  return out;
}

void KeptLayer::clear_marks() const {
  if (state_.kind == KeptKind::kCopy) return;
  for (std::size_t i = 0; i < state_.roots.size(); ++i) {
    // The kernel's own directory, without any mode.
    const std::string work = store_.part(state_.stack.back(), i) + "/work/work";
    if (chmod(work.c_str(), 0700) == 0) remove_tree(work + "/incompat");
  }
}

std::vector<std::string> KeptLayer::levels(std::size_t root) const {
  std::vector<std::string> out;
  if (state_.kind == KeptKind::kCopy) return {store_.part(state_.stack.back(), root) + "/tree"};
  for (auto at = state_.stack.rbegin(); at != state_.stack.rend(); ++at) {
    out.push_back(store_.part(*at, root) + "/upper");
  }
  return out;
}

// There from a run's begin to its end.
std::string KeptLayer::run_mark() const { return store_.epoch(state_.stack.back()) + "/running"; }

// The mark's own time; without a mark nothing has been written since the last run's end.
std::int64_t KeptLayer::run_begun() const {
  struct stat info {};
  if (stat(run_mark().c_str(), &info) != 0) return INT64_MAX;
  return nanoseconds(info.st_mtim);
}

Status KeptLayer::begin() {
  // What a run that was killed has touched.
  if (access(run_mark().c_str(), F_OK) == 0) SBX_CHECK_OK(note_touched());
  const OwnedFd mark(::open(run_mark().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!mark.is_open() || futimens(mark.get(), nullptr) != 0) {
    return layer_failure("open(" + run_mark() + ")", errno);
  }
  count_layer_run(store_, name_);
  return save();
}

Status KeptLayer::finish() {
  SBX_CHECK_OK(note_touched());
  for (std::size_t i = 0; i < state_.roots.size(); ++i) {
    Listing written(levels(i).front());
    if (!written.is_open() || written.next() == nullptr) continue;
    if (open_directory(state_.roots[i]).is_open()) continue;
    // The mark stays, as after a kill: by its time what was touched is noted once that is back.
    return layer_failure("cannot list what is changed in " + repair_utf8(state_.roots[i]), errno);
  }
  if (unlink(run_mark().c_str()) == 0) return {};
  return layer_failure("unlink(" + run_mark() + ")", errno);
}

const BaseRecords& KeptLayer::base() {
  if (!has_base_) {
    const bool is_copy = state_.kind == KeptKind::kCopy;
    for (const std::string& epoch : state_.stack) {
      if (!is_copy || epoch == state_.stack.back()) base_.load(store_.epoch(epoch) + "/base");
    }
    has_base_ = true;
  }
  return base_;
}

Status KeptLayer::note_touched(bool only_looks) {
  if (state_.kind == KeptKind::kCopy) return {};
  base();
  for (std::size_t i = 0; i < state_.roots.size(); ++i) note_root(i);
  return only_looks ? Status() : base_.save(store_.epoch(state_.stack.back()) + "/base");
}

void KeptLayer::note_root(std::size_t root) {
  const OwnedFd real = open_directory(state_.roots[root]);
  const std::vector<OwnedFd> live =
      open_levels({store_.part(state_.stack.back(), root) + "/upper"});
  if (!real.is_open() || live.empty()) return;
  const std::int64_t begun_ns = run_begun();
  std::string moved;
  std::string fresh;   // no real directory: nothing real lies in it
  std::string hidden;  // that has been: nothing real is seen in it but what was noted
  walk_merged(live, [&](const MergedEntry& entry) {
    const BaseRecord* known = base_.find(root, entry.path);
    if (known != nullptr && known->is_hidden && !lies_in(entry.path, hidden)) hidden = entry.path;
    // What has been hidden before was noted then, with all that was in it. (The time of a removal
    // tells nothing: the kernel's next mount changes it.)
    if (known != nullptr && (known->kind != BaseRecord::kDirectory || known->is_hidden ||
                             nanoseconds(entry.info.st_ctim) < begun_ns)) {
      return true;
    }
    // Not asked for most files, which are new.
    std::optional<std::int64_t> touched;
    const auto touched_ns = [&] {
      if (!touched) {
        touched = touched_at(live[0].get(), entry.path, begun_ns == INT64_MAX ? 0 : begun_ns);
      }
      return *touched;
    };
    const bool lies_in_moved = lies_in(entry.path, moved);
    if (!lies_in_moved && S_ISDIR(entry.info.st_mode) &&
        was_moved(real.get(), entry.path, touched_ns())) {
      moved = entry.path;
    }
    if (known == nullptr) {
      std::int64_t changed_ns = 0;
      BaseRecord record;
      if (!lies_in(entry.path, fresh) && !lies_in(entry.path, hidden)) {
        record = look_at_real(real.get(), entry.path, &changed_ns);
        if (S_ISDIR(entry.info.st_mode) && record.kind == BaseRecord::kAbsent) fresh = entry.path;
      }
      // A directory's own time tells of its entries.
      if (record.kind != BaseRecord::kDirectory && record.kind != BaseRecord::kAbsent &&
          (lies_in_moved || changed_ns >= touched_ns())) {
        record.kind = BaseRecord::kUnknown;
      }
      base_.add(root, entry.path, record);
      known = base_.find(root, entry.path);
    }
    const bool hides = entry.is_whiteout || entry.is_opaque || !S_ISDIR(entry.info.st_mode);
    if (known->kind == BaseRecord::kDirectory && hides) {
      const bool is_moved = lies_in_moved || was_moved(real.get(), entry.path, touched_ns());
      note_below(root, real.get(), entry.path, is_moved ? 0 : touched_ns());
    }
    return true;
  });
}

// A directory that is removed or replaced takes along what is in it, also where the directory
// itself had been touched before.
void KeptLayer::note_below(std::size_t root, int real, const std::string& path,
                           std::int64_t touched_ns) {
  Listing listing;
  const OwnedFd directory(
      open_beneath(real, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.is_open()) listing = Listing(directory.get(), ".");
  base_.hide(root, path);
  while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
    const std::string below = path + "/" + entry->d_name;
    const BaseRecord* known = base_.find(root, below);
    if (known == nullptr) {
      std::int64_t changed_ns = 0;
      BaseRecord record = look_at_real(real, below, &changed_ns);
      if (record.kind != BaseRecord::kDirectory && changed_ns >= touched_ns) {
        record.kind = BaseRecord::kUnknown;
      }
      base_.add(root, below, record);
      known = base_.find(root, below);
    }
    if (known->kind == BaseRecord::kDirectory && !known->is_hidden) {
      note_below(root, real, below, touched_ns);
    }
  }
}

std::vector<Change> KeptLayer::changes() {
  std::vector<Change> out;
  base();
  parted_ = {};
  BaseRecords linked;
  for (const std::string& epoch : state_.stack) linked.load(store_.epoch(epoch) + kLinkedNames);
  bool is_whole = true;
  for (std::size_t i = 0; i < state_.roots.size() && out.size() < kMaxChanges; ++i) {
    is_whole = list_root(i, linked, out) && is_whole;
  }
  sort_changes(out, is_whole);
  return out;
}

// False: it goes deeper than is looked.
bool KeptLayer::list_root(std::size_t root, const BaseRecords& linked, std::vector<Change>& out) {
  const std::string& host = state_.roots[root];
  const OwnedFd real = open_directory(host);
  const std::vector<OwnedFd> all = open_levels(levels(root));
  if (!real.is_open() || all.empty()) return true;
  const bool is_copy = state_.kind == KeptKind::kCopy;
  std::set<std::string> there;
  std::set<std::string> gone;  // below which nothing real shows
  std::string fresh;           // no real directory: nothing real lies in it
  const auto add = [&](const std::string& path, const char* kind) {
    out.push_back({repair_utf8(host + "/" + path), kind});
  };
  const bool is_whole = walk_merged(all, [&](const MergedEntry& entry) {
    there.insert(entry.path);
    if (entry.is_opaque || !S_ISDIR(entry.info.st_mode)) gone.insert(entry.path);
    const bool is_new = entry.level == 0 && !entry.is_whiteout;
    if (is_new && linked.find(root, entry.path) != nullptr) {
      parted_.note(repair_utf8(host + "/" + entry.path));
    }
    const BaseRecord* const known = base_.find(root, entry.path);
    if (is_copy && known != nullptr && known->stamp == nanoseconds(entry.info.st_ctim)) {
      return true;
    }
    struct stat lower {};
    const bool existed = !lies_in(entry.path, fresh) && stat_beneath(real.get(), entry.path, lower);
    if (!existed && S_ISDIR(entry.info.st_mode) && !lies_in(entry.path, fresh)) fresh = entry.path;
    if (entry.is_whiteout) {
      if (existed) add(entry.path, "deleted");
    } else if (!existed) {
      add(entry.path, "created");
    } else if ((lower.st_mode & S_IFMT) != (entry.info.st_mode & S_IFMT)) {
      add(entry.path, "replaced");
    } else if (!says_the_same(real.get(), lower, all[entry.level].get(), entry)) {
      add(entry.path, "modified");
      if (!is_copy && S_ISREG(lower.st_mode) && lower.st_nlink > 1) parted_.note(out.back().path);
    }
    return out.size() < kMaxChanges;
  });
  for (const auto& [key, record] : base_.all()) {
    struct stat lower {};
    if (out.size() >= kMaxChanges || key.first != root || there.contains(key.second)) continue;
    if ((is_copy || lies_below_any(key.second, gone)) &&
        stat_beneath(real.get(), key.second, lower)) {
      add(key.second, "deleted");
    }
  }
  return is_whole;
}

}  // namespace sbx
