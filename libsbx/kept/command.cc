// SPDX-License-Identifier: Apache-2.0
#include "kept/command.h"

#include "host/view.h"

namespace sbx {

Status add_policy_words(std::vector<std::string>& words, const Policy& policy,
                        Expansions* expansions) {
  SBX_TRY(const View places, inspect_roots(policy, expansions));
  for (const ViewProtect& protect : places.protects) {
    words.insert(words.end(),
                 {protect.is_only_reported() ? "--report" : "--protect", protect.node.path});
  }
  for (const ViewRoot& root : places.roots) {
    if (root.access != Access::kReadWrite) {
      words.insert(words.end(), {"--hide", root.node.path});
    }
  }
  for (const ViewRoot& root : places.absent) {
    words.insert(words.end(), {"--hide", root.node.path});
  }
  return {};
}

}  // namespace sbx
