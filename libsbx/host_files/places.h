// SPDX-License-Identifier: Apache-2.0
// Where sbx keeps what is its own on the host: fresh workspaces below the user's cache directory,
// full logs and used approvals below the state directory, all in the temporary directory where
// there is none. The environment is a value that the launcher hands in.
#pragma once

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// Directories in the order in which they are to be tried; they need not exist.
std::vector<std::string> workspace_places(const Environment& environment);
// Those first that the command cannot write under this policy.
std::vector<std::string> log_places(const Environment& environment, const Policy& policy);
// Of the approvals that are used up.
std::vector<std::string> approval_places(const Environment& environment);

// $XDG_STATE_HOME/sbx, or that below HOME: what must not get lost, nor be another's. Empty without
// either. It need not exist.
std::string state_directory(const Environment& environment);
// Of the layers of all workspaces, in it.
std::string layers_directory(const Environment& environment);

// Where caches are kept, without symlinks; it need not exist. Empty: nowhere. Errors: kSetupFailed
// where something else stands there.
Result<std::string> cache_place(const Environment& environment);
// The directories of a policy's caches, made where they are missing.
Status make_caches(const SandboxPolicy& policy);

// Makes `path` with its parents (mode 0700) where it is missing; what root makes in another user's
// directory is that user's. What fails shows when it is used.
void make_directories(const std::string& path);

// Makes `path` with its parents, as above, where it is missing, and opens it. Its last component is
// made the caller's, and must be a directory of this user's, not a symlink, that nobody else may
// write. Errors: kSetupFailed.
Result<OwnedFd> open_private_directory(const std::string& path);

}  // namespace sbx
