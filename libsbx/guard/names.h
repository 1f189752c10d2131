// SPDX-License-Identifier: Apache-2.0
// Names: the lists that the command policy knows programs by. Values only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sbx::guard {

// Denied in every profile: what would change who the command is, or the machine.
inline constexpr std::string_view kDeniedCommands[] = {"sudo",   "su",       "shutdown", "reboot",
                                                       "halt",   "poweroff", "chroot",   "mount",
                                                       "umount", "mkfs",     "mkfs.*"};

// The endings that `mkfs.*` has on common systems, for what must look up whole names.
inline constexpr std::string_view kFileSystems[] = {
    "bfs", "btrfs", "cramfs", "erofs",  "exfat", "ext2",     "ext3", "ext4", "f2fs", "fat",
    "jfs", "minix", "msdos",  "nilfs2", "ntfs",  "reiserfs", "udf",  "vfat", "xfs"};

bool is_pattern(std::string_view name);

// `pattern` may hold * ? and [ ]. A path stands for its last component, on both sides.
bool matches_name(std::string_view pattern, std::string_view program);

// Whether the built-in list or `more` denies the program.
bool is_denied_name(const std::vector<std::string>& more, std::string_view program);

// What would let a program of `denied` run; empty where nothing does.
std::string denied_name_grant(const std::vector<std::string>& denied, std::string_view program);

}  // namespace sbx::guard
