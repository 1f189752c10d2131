// SPDX-License-Identifier: Apache-2.0
// The map is that of a user namespace which outlives its only process by a descriptor.
#include "host/unowned.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{64} << 10;

bool write_whole(const char* path, std::string_view text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool done =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return done;
}

// In a user namespace of its own, with the caller's memory and descriptors. The one id that is
// mapped stands for none: the highest that an id can be.
int make_map(void* made) {
  constexpr std::string_view kMap = "4294967294 0 1";
  const bool is_mapped = write_whole("/proc/self/setgroups", "deny") &&
                         write_whole("/proc/self/uid_map", kMap) &&
                         write_whole("/proc/self/gid_map", kMap);
  *static_cast<int*>(made) = is_mapped ? open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC) : -1;
  return 0;
}

OwnedFd new_map() {
  const std::unique_ptr<char[]> stack(new char[kStackSize]);
  int made = -1;
  const pid_t pid = clone(make_map, stack.get() + kStackSize - 16,
                          CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | SIGCHLD, &made);
  if (pid < 0) return {};
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return OwnedFd(made);
}

Error failed(const char* call) {
  const int error = errno;
  return Error{ErrorCode::kLayerUnavailable, std::string(call) + ": " + errno_text(error), "", "",
               error};
}

}  // namespace

Result<UnownedMap> UnownedMap::make() {
  OwnedFd map = new_map();
  if (!map.is_open()) return failed("clone(CLONE_NEWUSER)");
  UnownedMap made;
  made.map_ = std::make_shared<const OwnedFd>(std::move(map));
  return made;
}

Result<OwnedFd> UnownedMap::tree(const std::string& path, std::uint64_t attributes) const {
  OwnedFd tree(sys::open_tree(AT_FDCWD, path.c_str(),
                              sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtRecursive));
  if (!tree.is_open()) return failed("open_tree");
  const sys::MountAttr attr{attributes | sys::kMountAttrIdmap, 0, MS_PRIVATE,
                            static_cast<std::uint64_t>(map_->get())};
  if (sys::mount_setattr(tree.get(), "", sys::kAtEmptyPath | sys::kAtRecursive, attr) != 0) {
    return failed("mount_setattr(MOUNT_ATTR_IDMAP)");
  }
  return tree;
}

}  // namespace sbx
