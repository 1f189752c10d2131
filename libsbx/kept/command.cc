// SPDX-License-Identifier: Apache-2.0
#include "kept/command.h"

#include "host/globs.h"
#include "host/protect.h"
#include "host/view.h"

namespace sbx {

Status add_policy_words(std::vector<std::string>& words, const Policy& policy,
                        Expansions* expansions) {
  SBX_TRY(const View places, inspect_roots(policy, expansions));
  for (const ViewProtect& protect : places.protects) {
    const std::string& path = protect.node.path;
    // What leads git elsewhere is no part of a repository as git makes it.
    const bool leads_git = protect.leads_git || path.ends_with(kGitWorktreeSettings);
    words.insert(words.end(),
                 {protect.is_only_reported() && !leads_git ? "--report" : "--protect", path});
  }
  for (const View::Pattern& pattern : places.patterns) {
    words.insert(words.end(), {pattern.hides ? "--hide-glob" : "--protect-glob",
                               whole_glob(pattern.glob.base, pattern.glob.pattern)});
  }
  for (const auto* const roots : {&places.roots, &places.absent}) {
    for (const ViewRoot& root : *roots) {
      const char* const flag = root.access == Access::kNone       ? "--hide"
                               : root.access == Access::kReadOnly ? "--read-only"
                                                                  : "--writable";
      words.insert(words.end(), {flag, root.path()});
    }
  }
  return {};
}

}  // namespace sbx
