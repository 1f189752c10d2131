// SPDX-License-Identifier: Apache-2.0
// Paths as a process inside means them: read from its memory, resolved below its root and from its
// own directory. The process is hostile and may change everything meanwhile, so what is found is
// good for a report, or must be pinned by the descriptor that was opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/owned_fd.h"

namespace sbx {

// The NUL-terminated text at `address` in the thread's memory; nullopt where it is longer than
// PATH_MAX or cannot be read. Ask afterwards whether the notification still waits: the number may
// have become another's.
std::optional<std::string> read_path(std::uint32_t tid, std::uint64_t address);

// Eight bytes there.
std::optional<std::uint64_t> read_word(std::uint32_t tid, std::uint64_t address);

// The thread's root, as a descriptor that only names it.
OwnedFd open_root(std::uint32_t tid);

// `path` as an absolute path inside: relative ones begin at the thread's descriptor `dirfd`, or at
// its working directory (AT_FDCWD). An empty one is that place itself. nullopt where it has gone.
std::optional<std::string> absolute_path(std::uint32_t tid, int dirfd, const std::string& path);

// Opens an absolute path below `root`, never through one of the links of /proc, which would lead
// elsewhere for us than for the process. Sets errno where it fails.
OwnedFd open_below(const OwnedFd& root, const std::string& path, std::uint64_t flags,
                   std::uint64_t resolve = 0);

// What a symlink says, opened as such; nullopt for anything else.
std::optional<std::string> link_target(const OwnedFd& link);

// Where a descriptor leads, as the mount namespace that it was opened in has it.
std::string path_of(int fd);

}  // namespace sbx
