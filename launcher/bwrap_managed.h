// SPDX-License-Identifier: Apache-2.0
// bubblewrap's options, held against the managed policy.
#pragma once

#include "bwrap/options.h"
#include "profile/managed.h"

namespace sbx::bwrap {

// Lowers binds, and covers what lies below them. Sources are resolved, and are to be resolved
// again. What bubblewrap has nothing for (limits, an audit log, a filter, a list of hosts) is
// refused. Errors: kManagedPolicy, naming the file.
Status narrow_options(const Managed& managed, Options& options);

}  // namespace sbx::bwrap
