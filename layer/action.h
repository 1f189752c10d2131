// SPDX-License-Identifier: Apache-2.0
// What sbx-layer is asked to do, as sbx-run or its server says it: paths are absolute, what must
// not be touched is named. And how it answers.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kept/kept_layer.h"
#include "model/outcome.h"
#include "policy/environment.h"
#include "report/audit_log.h"

namespace sbx {

struct Action {
  std::string what;  // list, diff, commit …
  std::string name;
  std::vector<std::string> arguments;  // a label, a new name, paths
  std::string workspace;
  std::vector<std::string> protects;  // not to be written
  std::vector<std::string> hidden;    // neither that, nor shown in a patch
  std::vector<std::string> read_only;
  std::vector<std::string> protect_globs;  // see host/globs.h
  std::vector<std::string> hidden_globs;
  std::vector<std::string> writable;  // roots, also within those
  std::vector<std::string> reported;  // may be written, and is named
  std::vector<std::string> ours;
  std::vector<std::string> theirs;
  std::string root;  // of a patch; empty: the workspace
  bool json = false;
  bool stat = false;
  bool name_only = false;
  bool patch = false;  // with json: the patch too
  bool dry_run = false;
  bool undo = false;
  bool is_held = false;  // the caller holds the layer, and has left its lock open here
  bool terminal = false;
  AuditPlace audit;  // and what its line says of the policy
  std::string profile;
  std::vector<std::string> managed;  // SHA256:FILE
  Environment environment;
};

// A refusal: the error, and what it is about, for the answer's `changes`.
struct Refusal {
  Error error;
  std::vector<Change> changes;
};

struct Answer {
  std::string text;  // for stdout
  std::string note;  // for stderr
};

// The layer, noted up to date, unless it goes; in memory where it is only looked at. Errors: those
// of KeptLayer::find(), and kLayerInUse where a commit of it is unfinished.
Result<std::shared_ptr<KeptLayer>> find_layer(const Action& action, bool only_looks);

// With paths as the layer's roots are named: symlinks that lead to a root are resolved, what lies
// below it is taken by its text, since the layer may have something else there.
Action in_roots(Action action, const LayerState& state);

// Whether one of `tops` holds a path of the layer's root, `holds` says which do, though the root
// lies in it: as a worktree's part of a repository may, which is writable itself.
template <typename Holds>
bool is_narrowed(const std::vector<std::string>& tops, const std::string& root, bool is_writable,
                 Holds holds) {
  return std::any_of(tops.begin(), tops.end(), [&](const std::string& top) {
    const bool is_wider = is_writable && root != top && is_below(root, top);
    return holds(top) && !is_wider;
  });
}

using Done = std::variant<Answer, Refusal>;

Done list_layers(const Action& action);
Done diff_layer(const Action& action);
Done commit_layer(const Action& action);
Done undo_layer(const Action& action);
Done discard_layer(const Action& action);
Done checkpoint_layer(const Action& action);
Done rollback_layer(const Action& action);
Done branch_layer(const Action& action);

}  // namespace sbx
