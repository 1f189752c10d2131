// SPDX-License-Identifier: Apache-2.0
// git's own configuration, where it is protected and the command was to change it: git says "Device
// or resource busy", and this says what would allow it once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/view.h"
#include "model/denial.h"
#include "model/outcome.h"
#include "model/request.h"
#include "profile/profile.h"

namespace sbx {

// Whether git may be meant at all.
bool names_git(const Request& request);

// Whether a subcommand of git in the text sets something in a repository's configuration.
bool sets_git_config(const Request& request);

// One for each protected configuration in whose directory something was made or removed (git's
// lock) since the run began; in an overlay it can be written. `printed` is what the command wrote.
std::vector<Denial> refused_git_settings(const Request& request, const View& view, bool in_overlay,
                                         std::string_view printed, std::int64_t began_ms);

// `git clone URL .` in a workspace that holds nothing but the stub of .sbx. Else nothing.
std::optional<Denial> refused_git_clone(const Request& request, const std::string& workspace,
                                        const std::vector<std::string>& stubs,
                                        std::string_view printed);

// git did not know who commits, or a setting that it was asked for in vain, and the caller's own
// configuration, in `home`, would tell it.
std::optional<Denial> missing_git_setting(const FilesystemProfile& filesystem,
                                          const std::string& home, const Request& request,
                                          const Outcome& outcome, std::string_view printed);

// In a linked worktree git could not write what another one has in the same repository, or make a
// new one there.
std::optional<Denial> refused_git_upkeep(const View& view, std::string_view printed);

}  // namespace sbx
