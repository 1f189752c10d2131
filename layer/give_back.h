// SPDX-License-Identifier: Apache-2.0
// What a commit took out of a layer → the layer again, when it is taken back.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "journal.h"
#include "touched.h"

namespace sbx {

// A path of a commit: from its first step to its last. Of one file there is one step only.
struct Passage {
  const BaseRecord* from = nullptr;
  const BaseRecord* to = nullptr;
  std::string kept;  // what it was in the layer
};

using Passages = std::map<TouchedKey, Passage>;

// The steps' `kept` files have the numbers from `first` on.
Passages passages(const LayerStore& store, const std::string& committed,
                  const std::vector<Step>& steps, std::size_t first = 0);

// As an epoch, which is empty: it is to be the lowest. Errors: kSetupFailed.
Status fill_epoch(KeptLayer& layer, const std::string& epoch, const Passages& all);
// In a copy, whose tree shows what is real: what was given up takes its place, but where a command
// has written since. Done again after a kill it comes to the same end. Errors: kSetupFailed.
Status give_back(const KeptLayer& layer, const std::string& epoch, const Passages& all);

// The tree of a copy. What a command wrote in it may be a symlink to anywhere: every path is
// reached beneath it, by descriptor.
OwnedFd open_tree(const KeptLayer& layer, const std::string& epoch, std::size_t root);

}  // namespace sbx
