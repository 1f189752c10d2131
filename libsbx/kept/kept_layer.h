// SPDX-License-Identifier: Apache-2.0
// KeptLayer: one layer while it is in use: found or made, locked, its parts for the mount view,
// what it changes against the real files. Commits, diffs and its history are the business of
// sbx-layer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "host/view.h"
#include "host_files/changes.h"
#include "kept/base_records.h"
#include "kept/store.h"
#include "model/outcome.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// What was found out of roots: why no overlay can lie over them, or nothing. For many layers over
// the same tree, which is then looked at once.
using RootLooks = std::map<std::string, std::string>;

// Whether it is of a wider root that is as writable: a file has one place in a layer.
bool is_part_of_another(const ViewRoot& root, const View& places);

class KeptLayer {
 public:
  // Finds or makes the layer of the policy's workspace; nobody else can use it from then on. Where
  // each run has its own, it is a new one. `places` are the policy's roots and protected paths, as
  // they were found; `looks` may be null. Errors: kLayerInUse, kPathRefused for a root that no
  // layer can lie over, kSetupFailed.
  static Result<std::shared_ptr<KeptLayer>> open(const Environment& environment,
                                                 const Policy& policy, const View& places,
                                                 RootLooks* looks = nullptr, int owner_pidfd = -1);
  // Which kind the policy's layer has, or would be made as. Makes nothing but the store's
  // directories. Errors: those of open(), but for kLayerInUse.
  static Result<KeptKind> kind_of(const Environment& environment, const Policy& policy,
                                  const View& places);
  // One that is there, for a look or an action: no root is added. Locked unless `only_looks`.
  static Result<std::shared_ptr<KeptLayer>> find(const LayerStore& store, const std::string& name,
                                                 bool only_looks);

  const LayerStore& store() const { return store_; }
  const std::string& name() const { return name_; }
  LayerState& state() { return state_; }
  const LayerState& state() const { return state_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // For a process that is to hold the layer beside this one: -1 where it is only looked at.
  int lock() const { return lock_.get(); }

  // For the planner.
  ViewLayer view() const;
  // Takes out what would stand over something in a root that the layer does not show, and roots
  // within one of the layer's that are as writable; adds the layer's own roots that the run sees
  // as a part of others, and in those that it may only read what only the layer has and is to be
  // hidden. Errors: kPathRefused where something else stands at a root, and for more that is to be
  // hidden than a pattern may match.
  Status fit(View& view, const Policy& policy) const;
  // Before each mount of it: of a volatile one before it the kernel keeps a mark, and refuses the
  // next one while that is there.
  void clear_marks() const;
  // Upper directories of a root, the topmost first.
  std::vector<std::string> levels(std::size_t root) const;
  // In bytes, with checkpoints; beyond those of the epoch that is written to.
  std::int64_t frozen_bytes() const;
  // How much the epoch that is written to may hold, so that all have `most_bytes`: what was there
  // before, where that is more already.
  std::int64_t most_written(std::int64_t most_bytes) const;
  // Whether it holds more than that, and more than after the command before. In bytes.
  bool has_outgrown(std::int64_t most_bytes) const;
  // Directories that a quota counts while a command runs.
  std::vector<std::string> written() const;

  // Before a command that may write to it, and after it.
  Status begin();
  Status finish();
  // The files of a request, into the layer. Errors: those of write_workspace_files().
  Status write_files(const std::vector<RequestFile>& files, const View& places,
                     std::optional<std::int64_t> file_bytes);
  // Records what real files are that the layer touches and had not touched before; one that
  // `only_looks` writes nothing down: another process may be at that.
  Status note_touched(bool only_looks = false);
  const BaseRecords& base();
  // The state names another epoch now.
  void drop_base();
  // Everything that it changes, with absolute paths, sorted; bounded as list_changes() is.
  std::vector<Change> changes();
  // After that: what other names keep the former content.
  const Parted& parted() const { return parted_; }
  // What somebody else has made of it meanwhile. Errors: those of read_layer_state().
  Status reload();
  // What was changed in its state.
  Status save();

  // Nothing of it stays; the files go by a process that nobody waits for.
  void throw_away();

  // A session lets one command at a time in. Errors: kLayerInUse.
  Status enter();
  void leave() { is_busy_ = false; }
  bool is_busy() const { return is_busy_; }

  ~KeptLayer();
  KeptLayer(const KeptLayer&) = delete;
  KeptLayer& operator=(const KeptLayer&) = delete;

 private:
  KeptLayer(LayerStore store, std::string name)
      : store_(std::move(store)), name_(std::move(name)) {}
  Status make(const Policy& policy, const std::vector<std::string>& roots, const View& places,
              RootLooks* looks);
  void choose_kind(const std::vector<std::string>& roots, RootLooks* looks);
  Status add_roots(const Policy& policy, const std::vector<std::string>& roots, const View& places);
  Status copy_root(const Policy& policy, std::size_t root, const View& places,
                   BaseRecords& records);
  void remember(const View& places);
  std::optional<NodeKind> shown_kind(std::size_t root, const std::string& path) const;
  void add_seen_roots(View& view, const Policy& policy) const;
  Status hide_new(View& view) const;
  Status make_way(std::size_t root, const std::string& path);
  std::string run_mark() const;
  std::int64_t known_excess() const;
  std::int64_t run_begun() const;
  void note_root(std::size_t root);
  void note_below(std::size_t root, int real, const std::string& path, std::int64_t touched_ns);
  bool list_root(std::size_t root, const BaseRecords& linked, std::vector<Change>& out);

  LayerStore store_;
  std::string name_;
  LayerState state_;
  LayerState saved_;  // as it is written down
  OwnedFd lock_;
  BaseRecords base_;
  bool has_base_ = false;
  bool is_busy_ = false;
  std::vector<std::string> warnings_;
  Parted parted_;
};

// The bytes that a tree takes on the disk.
std::int64_t tree_bytes(const std::string& path);

}  // namespace sbx
