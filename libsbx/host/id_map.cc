// SPDX-License-Identifier: Apache-2.0
// The map is that of a user namespace which outlives its only process by a descriptor.
#include "host/id_map.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{64} << 10;

// user_namespaces(7): an id on the disk, the one it is shown as, and how many follow them. The one
// that is mapped here stands for none: the highest that an id can be.
constexpr std::uint32_t kHighest = 4'294'967'294;
constexpr std::string_view kNobody = "4294967294 0 1\n";

// `id` and 0 change places.
std::string swapped(std::uint32_t id) {
  const auto line = [](std::uint32_t from, std::uint32_t to, std::uint32_t count) {
    return std::to_string(from) + " " + std::to_string(to) + " " + std::to_string(count) + "\n";
  };
  if (id == 0) return line(0, 0, kHighest + 1);
  std::string lines = line(id, 0, 1) + line(0, id, 1);
  if (id > 1) lines += line(1, 1, id - 1);
  if (id < kHighest) lines += line(id + 1, id + 1, kHighest - id);
  return lines;
}

// Alone in a user namespace, with the caller's memory, until it is killed.
int wait_for_the_end(void* caller) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (getppid() == *static_cast<const pid_t*>(caller)) pause();
  return 0;
}

}  // namespace

Result<IdMap> IdMap::nobody() { return make(std::string(kNobody), std::string(kNobody)); }

Result<IdMap> IdMap::as_root(const Owner& owner) {
  return make(swapped(owner.uid), swapped(owner.gid));
}

Result<IdMap> IdMap::make(const std::string& uids, const std::string& gids) {
  const std::unique_ptr<char[]> stack(new char[kStackSize]);
  pid_t own = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler runs twice in this memory
  const pid_t pid = clone(wait_for_the_end, stack.get() + kStackSize - 16,
                          CLONE_VM | CLONE_NEWUSER | SIGCHLD, &own);
  const int refused = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = refused;
  if (pid < 0) return call_failed(ErrorCode::kLayerUnavailable, "clone(CLONE_NEWUSER)");
  const std::string directory = "/proc/" + std::to_string(pid);
  const bool is_mapped = write_at_once(directory + "/setgroups", "deny") &&
                         write_at_once(directory + "/uid_map", uids) &&
                         write_at_once(directory + "/gid_map", gids);
  OwnedFd map(is_mapped ? open((directory + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC) : -1);
  const int error = errno;
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  errno = error;
  if (!map.is_open())
    return call_failed(ErrorCode::kLayerUnavailable, "the maps of a user namespace");
  IdMap made;
  made.map_ = std::make_shared<const OwnedFd>(std::move(map));
  return made;
}

Result<OwnedFd> IdMap::tree(int file, std::uint64_t attributes) const {
  OwnedFd tree(sys::open_tree(
      file, "",
      sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtEmptyPath | sys::kAtRecursive));
  if (!tree.is_open()) return call_failed(ErrorCode::kLayerUnavailable, "open_tree");
  const sys::MountAttr attr{attributes | sys::kMountAttrIdmap, 0, MS_PRIVATE,
                            static_cast<std::uint64_t>(map_->get())};
  if (sys::mount_setattr(tree.get(), "", sys::kAtEmptyPath | sys::kAtRecursive, attr) != 0) {
    return call_failed(ErrorCode::kLayerUnavailable, "mount_setattr(MOUNT_ATTR_IDMAP)");
  }
  return tree;
}

}  // namespace sbx
