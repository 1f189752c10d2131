// SPDX-License-Identifier: Apache-2.0
// Directories of root's that are shut to another user, in a root that is that user's: a command of
// root's works there as that user, so neither it nor a mount of its sandbox gets into them.
#pragma once

#include "host/view.h"

namespace sbx {

// What is protected or hidden in such a directory is neither there nor made there: the directory
// itself is protected in its place, as a whole.
void protect_shut(View& view);

}  // namespace sbx
