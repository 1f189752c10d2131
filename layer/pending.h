// SPDX-License-Identifier: Apache-2.0
// A commit, or its undoing, that has begun and not ended: names/NAME/pending holds its epoch. While
// it is there nothing else is done with the layer.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "action.h"
#include "journal.h"
#include "touched.h"

namespace sbx {

struct Pending {
  std::string epoch;
};

// Layers that show the commit through the real files, since they were branched off after it:
// locked.
using Branches = std::vector<std::shared_ptr<KeptLayer>>;
// Errors: kLayerInUse, where one is at work or has a commit that is unfinished.
Result<Branches> find_branches(const KeptLayer& layer, const std::string& epoch);

std::optional<Pending> read_pending(const LayerStore& store, const std::string& name);
// From here on it has begun. `journal` empty: it lies there already. Errors: kSetupFailed.
Status write_pending(KeptLayer& layer, const std::string& epoch, const std::string& journal);
// The whole file, by a rename. Errors: kSetupFailed.
Status write_new(const std::string& path, const std::string& text);

// Whether a commit takes all that the layer changes: what was only touched, and would go on hiding
// the real file, is forgotten too.
bool takes_all(const TouchedMap& touched, const std::vector<Step>& steps,
               const std::vector<Step>& given_up);
// What the layer gave up in a commit follows its steps in the numbers of EPOCH/new.
// After the last step: the layer forgets what is real now, and what it has given up.
Status finish_commit(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                     const std::vector<Step>& given_up, bool is_all);
// After the last step back: what is no longer real, and what was given up, is in the layer again,
// below what was written since; and in its branches.
Status finish_undo(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                   const std::vector<Step>& given_up, const Branches& branches);

// Of a commit that is taken back, with the store locked: the further names of real files that were
// kept for it are gone at once.
void forget_epoch(const KeptLayer& layer, const std::string& epoch);

// The layer forgets what is real already, without a commit. Errors: kSetupFailed.
Status forget_settled(KeptLayer& layer, const TouchedMap& touched,
                      const std::vector<Step>& settled);
// The layer shows what is real there and below it, and nothing of its own. Errors: kSetupFailed.
Status forget_paths(KeptLayer& layer, const std::set<TouchedKey>& paths);

Done commit_answer(const Action& action, const LayerState& state, const std::string& what,
                   const std::vector<Step>& steps, const std::vector<std::string>& warnings);

}  // namespace sbx
