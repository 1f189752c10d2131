// SPDX-License-Identifier: Apache-2.0
// A layer's stack, merged into one frozen directory by hard links: nothing is copied.
#pragma once

#include <functional>
#include <string>

#include "kept/kept_layer.h"

namespace sbx {

using KeepPath = std::function<bool(std::size_t root, const std::string& path)>;

// With the store locked: an epoch that shows what the layer's stack shows of the paths that are
// kept; null: of all. Errors: kSetupFailed.
Result<std::string> merge_stack(KeptLayer& layer, const KeepPath& keep);

// With the store locked: what is written so far is frozen, and a new epoch is written to. A stack
// that has grown high is merged. Errors: kSetupFailed.
Status freeze(KeptLayer& layer);
// With the store locked: nothing is frozen but `below`; in a copy the last of them is copied, or
// with none the real tree. Errors: kSetupFailed.
Status start_anew(KeptLayer& layer, const Epochs& below);

// In a frozen epoch: a removal of the real file. False and errno.
bool make_whiteout(int dirfd, const std::string& path);

}  // namespace sbx
