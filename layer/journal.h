// SPDX-License-Identifier: Apache-2.0
// A commit as a list of steps, written down before the first of them: each takes one real file from
// one state to another, can be done again, and can be taken back. What was there and what is to be
// there lie beside the list.
//
//   pool/EPOCH/journal     the steps
//   pool/EPOCH/old/N       the real file before step N, by another name of it where that can be;
//                          of one that only gets another mode its access lists and times
//   pool/EPOCH/new/N       and after it; of a directory its attributes and times only
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kept/base_records.h"
#include "kept/state.h"

namespace sbx {

struct Step {
  std::size_t root = 0;
  std::string path;
  BaseRecord from;
  BaseRecord to;
  std::int64_t link = -1;  // the step whose file this is another name of
};

std::string encode_journal(const std::vector<Step>& steps);
// Errors: kSetupFailed, for a journal that is damaged.
Result<std::vector<Step>> decode_journal(std::string_view text, std::size_t roots);

using Paths = std::vector<std::string>;

// All steps, or all of them back. Done again after a kill they come to the same end. With `left` a
// path that is neither as it was nor as it becomes is somebody else's: it stays, and is noted
// there. `anew`: the files that are not the former ones themselves again, but copies without their
// owner, group or other names. Errors: kLayerConflict, where somebody else has changed a file in
// the meantime; kSetupFailed.
Status do_steps(const LayerState& state, const std::string& epoch, const std::vector<Step>& steps,
                Paths* left = nullptr);
Status undo_steps(const LayerState& state, const std::string& epoch, const std::vector<Step>& steps,
                  Paths& anew, Paths* left = nullptr);
// Before the first step, and in its stead where nothing is to be done: what has been taken could be
// given back, but not to another owner. Errors: kSetupFailed.
Status may_take_all(const LayerState& state, const std::vector<Step>& steps, bool back);

// A step that changes nothing: a real file that later ones make other names of.
bool only_lends_name(const Step& step);

// A file that its owner may not read.
bool is_closed(const BaseRecord& record);

// Whether the real file of a step is in that state.
bool is_in_state(const BaseRecord& wanted, const BaseRecord& is);

}  // namespace sbx
