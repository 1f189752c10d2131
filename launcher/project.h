// SPDX-License-Identifier: Apache-2.0
// A project's own profile: where it lies, and whether the user has trusted it as it is. What is
// trusted is written down in the user's state directory, one file a profile: its path, and the
// path and digest of each file that it is made of.
#pragma once

#include <string>
#include <vector>

#include "policy/environment.h"
#include "profile/store.h"

namespace sbx {

// The path of .sbx/profile.json in the nearest directory from `workspace` upward that has an .sbx;
// it need not be there. Empty: none has.
std::string find_project(const std::string& workspace);

// The same, where there is such a file: what a run there asks about.
std::string find_project_profile(const std::string& workspace);

// One further up than `nearest`, which find_project() gave and which is not used; else empty. A
// command may have made the nearer one.
std::string find_passed_over_profile(std::string nearest);

// Writes down that the profile at `path` is trusted as it is now. Errors: those of its chain;
// kSetupFailed.
Result<TrustedFiles> trust_project(const std::string& path, const ProfileSearch& search,
                                   const Environment& environment);

// Whether there was such trust. Errors: kSetupFailed.
Result<bool> untrust_project(const std::string& path, const Environment& environment);

// Empty where there is none.
TrustedFiles trusted_files(const std::string& path, const Environment& environment);

// The files of all trusted profiles that lie below `directory`: what later runs further down go by.
std::vector<std::string> trusted_below(const std::string& directory,
                                       const Environment& environment);

}  // namespace sbx
