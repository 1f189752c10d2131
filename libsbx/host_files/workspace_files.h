// SPDX-License-Identifier: Apache-2.0
// The files of a request → the workspace: everything is checked before anything is written, and
// either all of them are there in the end or everything is as it was. What commands left in the
// workspace is hostile: every step is by descriptor, beneath it, and through no symlink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/view.h"
#include "policy/policy.h"

namespace sbx {

// At the most in one request.
inline constexpr std::size_t kMostFiles = 10'000;
inline constexpr std::size_t kMostDirectories = 100'000;  // on the ways to all of them
inline constexpr std::int64_t kMostFileBytes = std::int64_t{64} << 20;  // all of them together

// `view` says which places are writable and which are protected: its roots and protects are enough.
// `file_bytes` bounds each file. An existing regular file is replaced whole, with a new inode;
// missing parents are made with mode 0755, files with their own mode or 0644.
// `place`: where a layer has the workspace's files; empty: they are in the workspace itself.
// Errors, `where` "/files/N/…": kPathRefused, kTooLarge, kOutOfRange for a mode, kSetupFailed.
Status write_workspace_files(const std::string& workspace, const std::vector<RequestFile>& files,
                             const View& view, std::optional<std::int64_t> file_bytes,
                             const std::string& place = {});

// The same where writes go to overlays: held against the same rules, and against what an overlay
// can do; nothing is written. `content` points into `files`.
Result<std::vector<LaidFile>> lay_workspace_files(const std::string& workspace,
                                                  const std::vector<RequestFile>& files,
                                                  const View& view,
                                                  std::optional<std::int64_t> file_bytes);

// What a process that was killed had not renamed yet, or not removed: all in one directory whose
// names begin so.
void remove_staged(const std::string& prefix);

}  // namespace sbx
