// SPDX-License-Identifier: Apache-2.0
// Denied programs: names that the command policy denies → the files that go by them in the
// directories where programs lie, so that the view can mask them. Reads directories only.
#pragma once

#include <string>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

// Existing files and symlinks, without duplicates, by the real path of the directory and the name
// as it stands: a symlink is masked itself, never what it leads to. `search_path` is a PATH value.
// Left out are directories that the policy does not show, and writable roots: what lies there can
// be copied and renamed anyway.
// Fills view.denied, and view.hidden_path; `witnesses` as for inspect_view().
Status find_denied_programs(const Policy& policy, const std::string& search_path,
                            Witnesses* witnesses, View& view);

}  // namespace sbx
