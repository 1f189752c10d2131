// SPDX-License-Identifier: Apache-2.0
// The way back: a commit that failed midway, that was killed, or that is not wanted any more.
#pragma once

#include <string>
#include <vector>

#include "action.h"
#include "journal.h"
#include "pending.h"

namespace sbx {

// Steps that fail on their way are gone back, and nothing is unfinished then. `anew` as in
// undo_steps().
Status all_or_none(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                   bool back, Paths& anew);

// What the layer gives up for what is real, beside what is made real. As steps: from what the real
// files were when it first touched them, to what it made of them. An undo gives that back.
Status write_given_up(const KeptLayer& layer, const std::string& epoch,
                      const std::vector<Step>& given_up);

// A commit or an undo that has begun: `back` to what was before the commit.
Done finish_pending(const Action& action, KeptLayer& layer, const Pending& pending, bool back);
Done undo_committed(const Action& action, KeptLayer& layer);

}  // namespace sbx
