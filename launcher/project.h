// SPDX-License-Identifier: Apache-2.0
// A project's own profile: where it lies, and whether the user has trusted it as it is. What is
// trusted is written down in the user's state directory, one file a profile: its path, and the
// path and digest of each file that it is made of.
#pragma once

#include <string>

#include "policy/environment.h"
#include "profile/store.h"

namespace sbx {

// The path of .sbx/profile.json in the nearest directory from `workspace` upward that has an .sbx;
// it need not be there. Empty: none has.
std::string find_project(const std::string& workspace);

// The same, where there is such a file: what a run there asks about.
std::string find_project_profile(const std::string& workspace);

// Where the nearest has none, so that none is used, though one further up has: the latter's; else
// empty. A command may have made the nearer one.
std::string find_passed_over_profile(const std::string& workspace);

// Writes down that the profile at `path` is trusted as it is now. Errors: those of its chain;
// kSetupFailed.
Result<TrustedFiles> trust_project(const std::string& path, const ProfileSearch& search,
                                   const Environment& environment);

// Whether there was such trust. Errors: kSetupFailed.
Result<bool> untrust_project(const std::string& path, const Environment& environment);

// Empty where there is none.
TrustedFiles trusted_files(const std::string& path, const Environment& environment);

}  // namespace sbx
