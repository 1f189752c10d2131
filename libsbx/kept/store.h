// SPDX-License-Identifier: Apache-2.0
// Where kept layers lie: below the user's state directory where that is on the workspace's own file
// system, else in a hidden directory at the top of the workspace's mount.
//
//   layers/HASH/                one for each workspace, by its path
//     lock                      held while epochs are made and thrown away
//     choice                    held while it is found out where the workspace's layers lie
//     names/NAME/state, lock    one layer; who holds the lock uses it
//     names/NAME/runs           how many there were, in decimal
//     pool/EPOCH/N/upper, work  what was written below root N; in a copy: tree
//     pool/EPOCH/base           what real files were when a layer first touched them
//     trash/
#pragma once

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "kept/state.h"
#include "policy/environment.h"

namespace sbx {

// In a layer's directory while a commit, or its undoing, has begun and not ended: its epoch.
inline constexpr const char* kPendingCommit = "pending";
// In an epoch: of what lies below it, names of one file that it has not been given.
inline constexpr const char* kLinkedNames = "/linked";

inline constexpr std::size_t kLongestLayerName = 200;  // in bytes

// Errors: kBadFlag for what is no name, said of the flag `where`.
Status check_layer_name(const std::string& name, const std::string& where);

struct LayerStore {
  std::string directory;     // layers/HASH
  bool may_overlay = false;  // the kernel can keep an overlay's upper directory there
  int owner_pidfd = -1;      // whoever waits or copies ends with this process; -1: none

  std::string pool() const { return directory + "/pool"; }
  std::string epoch(const std::string& name) const { return pool() + "/" + name; }
  std::string part(const std::string& name, std::size_t root) const {
    return epoch(name) + "/" + std::to_string(root);
  }
  std::string layer(const std::string& name) const { return directory + "/names/" + name; }
};

// `workspace` is resolved. Nothing is made but directories and a lock. All layers of a workspace
// lie in one place: whoever makes one looks for it again once it has the layer's lock. Errors:
// kSetupFailed, where no place can be written; kPathNotFound for the workspace.
Result<LayerStore> open_layer_store(const Environment& environment, const std::string& workspace);

// Names of the workspace's layers, sorted.
std::vector<std::string> layer_names(const LayerStore& store);

// Whoever holds it uses the layer. Not waited for. Errors: kLayerInUse; kLayerNotFound where there
// is none and `make` is false; kSetupFailed.
Result<OwnedFd> lock_layer(const LayerStore& store, const std::string& name, bool make);
// Waited for. Errors: kSetupFailed, told_to_end().
Result<OwnedFd> lock_store(const LayerStore& store);

// Errors: kLayerNotFound, kSetupFailed.
Result<LayerState> read_layer_state(const LayerStore& store, const std::string& name);
// Whole or not at all. Errors: kSetupFailed.
Status write_layer_state(const LayerStore& store, const std::string& name, const LayerState& state);

// Of one layer. What cannot be read is 0, what cannot be written is not counted.
std::int64_t layer_runs(const LayerStore& store, const std::string& name);
void count_layer_run(const LayerStore& store, const std::string& name);

// Of a layer that did not come to be, or is no more.
void rmdir_layer(const LayerStore& store, const std::string& name);

// Of epochs, and of layers that nobody has named. Errors: kSetupFailed.
Result<std::string> new_epoch_name();

// All of a layer, whose lock is held: to the trash, which is emptied by a process that nobody waits
// for. `epochs` are of no other layer.
void throw_layer_away(const LayerStore& store, const std::string& name, const Epochs& epochs);
// Layers that were to be thrown away, and whose run was killed before it could.
void throw_forgotten_away(const LayerStore& store);

// With the store locked: a new empty epoch in which every root has its part, its top directory with
// the mode of the real one. Errors: kSetupFailed.
Result<std::string> make_epoch(const LayerStore& store, const LayerState& state);
// The part of one root of an epoch that is there. Errors: kSetupFailed.
Status make_part(const LayerStore& store, const std::string& epoch, const LayerState& state,
                 std::size_t root);
// With the store locked: epochs that no layer names any more go to the trash, and the trash is
// emptied by a process that nobody waits for.
void collect_garbage(const LayerStore& store);

// The signal that waits to be taken, as one does that the caller has blocked, of those that end a
// program; 0: none.
int waiting_signal();
// Whether there is one, or the owner (-1: none) has ended.
bool is_told_to_end(int owner_pidfd);
// That, as an error: kCancelled, with EINTR.
Error told_to_end();

// Errno of a call that failed, as an error that says what would mend it.
Error layer_failure(const std::string& call, int error);

}  // namespace sbx
