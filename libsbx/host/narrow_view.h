// SPDX-License-Identifier: Apache-2.0
// The maxima of the managed policy, held against what the paths of a view really are: a root that a
// symlink leads elsewhere, a part of git's that lies outside, what lies below a wider root.
#pragma once

#include "host/view.h"

namespace sbx {

// Lowers what the view shows, and adds what must be narrower within it. Looks at the paths that the
// maxima name.
void narrow_view(const Policy& policy, View& view);

}  // namespace sbx
