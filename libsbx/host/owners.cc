// SPDX-License-Identifier: Apache-2.0
// By descriptor, through no symlink. A file is copied up by itself, a directory for what changes in
// it.
#include "host/owners.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace sbx {
namespace {

constexpr std::size_t kMaxDepth = 500;  // as many descriptors

}  // namespace

bool may_change(int dirfd, const char* name, const struct stat& info) {
  if (S_ISLNK(info.st_mode)) return false;
  if (info.st_uid == geteuid()) return true;
  if ((info.st_mode & S_IWOTH) != 0) return true;
  if ((info.st_mode & S_IWGRP) == 0) return false;
  return info.st_gid == getegid() ||
         (geteuid() != 0 && faccessat(dirfd, name, W_OK, AT_EACCESS) == 0);
}

bool is_foreign(const struct stat& info) {
  return info.st_uid != geteuid() || info.st_gid != getegid();
}

std::optional<bool> OwnerLook::enter(int parent, const char* name, const struct stat& info,
                                     bool may_move) {
  const bool can_change = may_change(parent, name, info);
  if (is_foreign(info) && (can_change || may_move)) return true;
  if (!S_ISDIR(info.st_mode)) return std::nullopt;
  if (open_.size() == kMaxDepth) return true;
  Listing listing(parent, name, O_NOFOLLOW);
  if (listing.is_open()) {
    open_.push_back({std::move(listing), can_change});
  } else if (errno != EACCES || info.st_uid == geteuid()) {
    return true;  // inside it can be opened up
  }
  return std::nullopt;
}

std::optional<bool> OwnerLook::look(std::size_t entries) {
  struct stat info {};
  for (; entries > 0; --entries) {
    if (open_.empty()) {
      if (roots_.empty()) return false;
      const std::string root = std::move(roots_.back());
      roots_.pop_back();
      if (stat(root.c_str(), &info) != 0) continue;
      if (const auto found = enter(AT_FDCWD, root.c_str(), info, false)) return found;
      continue;
    }
    const int directory = open_.back().listing.fd();
    const bool may_move = open_.back().may_change;
    const dirent* const entry = open_.back().listing.next();
    if (entry == nullptr) {
      open_.pop_back();
    } else if (fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
      if (const auto found = enter(directory, entry->d_name, info, may_move)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace sbx
