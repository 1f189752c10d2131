// SPDX-License-Identifier: Apache-2.0
// Plain directories of mode 0700 that no command can reach.
#include "kept/store.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/files.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"
#include "host/layer_places.h"
#include "host_files/places.h"
#include "host_files/remove_tree.h"

namespace sbx {
namespace {

constexpr std::size_t kMostState = std::size_t{16} << 20;

// What overlayfs takes for an upper directory must keep user attributes and whiteouts, and be no
// network's and no overlay itself.
bool can_hold_upper(const std::string& directory) {
  struct statfs info {};
  if (statfs(directory.c_str(), &info) != 0) return false;
  constexpr std::array kRefused = {static_cast<unsigned long>(OVERLAYFS_SUPER_MAGIC),
                                   static_cast<unsigned long>(NFS_SUPER_MAGIC),
                                   static_cast<unsigned long>(V9FS_MAGIC),
                                   static_cast<unsigned long>(SMB_SUPER_MAGIC),
                                   0x65735546UL /* FUSE */,
                                   0xff534d42UL /* CIFS */,
                                   0x00c36400UL /* Ceph */,
                                   0x2fc12fc1UL /* ZFS */,
                                   static_cast<unsigned long>(ECRYPTFS_SUPER_MAGIC)};
  const auto type = static_cast<unsigned long>(info.f_type) & 0xffffffffUL;
  if (std::find(kRefused.begin(), kRefused.end(), type) != kRefused.end()) return false;
  const char* const attribute = "user.overlay.sbx";
  char value = 0;
  return getxattr(directory.c_str(), attribute, &value, 1) == 1 ||
         setxattr(directory.c_str(), attribute, "y", 1, 0) == 0;
}

// The highest directory above `path` on the same mount.
std::string mount_top(const std::string& path) {
  const auto mount_of = [](const std::string& at) -> std::uint64_t {
    struct statx info {};
    const bool known = statx(AT_FDCWD, at.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &info) == 0;
    return known ? info.stx_mnt_id : 0;
  };
  const std::uint64_t mount = mount_of(path);
  std::string top = path;
  while (top != "/") {
    const std::size_t slash = top.rfind('/');
    const std::string parent = slash == 0 ? "/" : top.substr(0, slash);
    if (mount_of(parent) != mount) break;
    top = parent;
  }
  return top;
}

// Without a symlink on the way: what is compared with roots, and mounted. Errors: those of
// open_private_directory().
Result<std::string> usable_directory(const std::string& path, const std::string& hash) {
  std::string directory = path;
  SBX_CHECK_OK(open_private_directory(directory));
  directory += "/" + hash;
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return layer_failure("mkdir(" + directory + ")", errno);
  }
  for (const char* part : {"/names", "/pool", "/trash"}) {
    if (mkdir((directory + part).c_str(), 0700) != 0 && errno != EEXIST) {
      return layer_failure("mkdir(" + directory + part + ")", errno);
    }
  }
  if (access(directory.c_str(), W_OK) != 0)
    return layer_failure("access(" + directory + ")", errno);
  return real_path(directory);
}

// What tells the directory from another one that stands there later.
std::string mark_of(const std::string& place) {
  struct statx info {};
  (void)!statx(AT_FDCWD, place.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &info);
  const std::uint64_t made[] = {info.stx_ino, static_cast<std::uint64_t>(info.stx_btime.tv_sec),
                                info.stx_btime.tv_nsec};
  std::string text = place;
  text.append(reinterpret_cast<const char*>(made), sizeof made);
  return "/beside-" + sha256_hex(text).substr(0, 32);
}

// Whether the directory was made for layers by whoever has the state directory, or is now: a
// command may have made another, or it came with the file system.
bool is_made_by_us(const std::string& place, const std::string& marks) {
  const bool is_new = mkdir(place.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return false;
  const std::string mark = marks + mark_of(place);
  if (!is_new) return access(mark.c_str(), F_OK) == 0;
  const OwnedFd file(open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) rmdir(place.c_str());
  return file.is_open();
}

Result<OwnedFd> lock_file(const std::string& path) {
  OwnedFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return layer_failure("open(" + path + ")", errno);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return layer_failure("flock(" + path + ")", errno);
  return Error{ErrorCode::kLayerInUse, "", "", "", EWOULDBLOCK};
}

// Looked at again and again: a signal that is blocked ends no call that waits.
Result<OwnedFd> wait_for_lock(const std::string& path, int owner_pidfd) {
  for (useconds_t pause = 500;; pause = std::min<useconds_t>(2 * pause, 20'000)) {
    Result<OwnedFd> lock = lock_file(path);
    if (lock.ok() || lock.error().code != ErrorCode::kLayerInUse) return lock;
    if (is_told_to_end(owner_pidfd)) return told_to_end();
    usleep(pause);
  }
}

Status make_directory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return layer_failure("mkdir(" + path + ")", errno);
  }
  if (mode != 0700 && chmod(path.c_str(), mode) != 0) {
    return layer_failure("chmod(" + path + ")", errno);
  }
  return {};
}

// Also one that is being made.
bool has_any_layer(const LayerStore& store) {
  Listing names(store.directory + "/names");
  while (const dirent* entry = names.next()) {
    const std::string layer = store.layer(entry->d_name);
    if (access((layer + "/state").c_str(), F_OK) == 0) return true;
    const Result<OwnedFd> lock = lock_file(layer + "/lock");
    if (!lock.ok() && lock.error().code == ErrorCode::kLayerInUse) return true;
  }
  return false;
}

// The trash may hold millions of files: a grandchild empties it.
void empty_trash(const std::string& path) {
  Listing listing(path);
  if (listing.next() == nullptr) return;
  const pid_t child = fork();
  if (child == 0) {
    close_range(0, ~0U, 0);  // locks, which are not to be held by this
    if (fork() == 0) {
      setsid();
      clear_tree(path);
    }
    _exit(0);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

}  // namespace

Result<std::string> new_epoch_name() {
  std::array<unsigned char, 8> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return layer_failure("getrandom", errno);
  }
  std::string name;
  for (const unsigned char byte : bytes) append_hex(name, byte);
  return name;
}

int waiting_signal() {
  sigset_t pending;
  if (sigpending(&pending) != 0) return 0;
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    if (sigismember(&pending, number) == 1) return number;
  }
  return 0;
}

bool is_told_to_end(int owner_pidfd) {
  return waiting_signal() != 0 || is_ready(owner_pidfd, POLLIN);
}

Error told_to_end() {
  return Error{ErrorCode::kCancelled, "interrupted while the layer was made ready", "layer", "",
               EINTR};
}

Error layer_failure(const std::string& call, int error) {
  return call_failed(ErrorCode::kSetupFailed, call, "layer",
                     error == ENOSPC || error == EDQUOT
                         ? "free some space, or discard layers that are not needed"
                         : "make it writable, or set XDG_STATE_HOME to a directory of your own",
                     error);
}

Status check_layer_name(const std::string& name, const std::string& where) {
  const bool is_plain =
      is_valid_utf8(name) && escape_control_bytes(name) == name && name.find('/') == name.npos;
  if (!name.empty() && name != "." && name != ".." && name.size() <= kLongestLayerName &&
      is_plain) {
    return {};
  }
  return Error{
      ErrorCode::kBadFlag,
      "bad value for " + where + ": '" + escape_control_bytes(name.substr(0, kLongestLayerName)) +
          "' is no name of a layer",
      where, "one path component of at most 200 bytes of UTF-8, without control characters"};
}

Result<LayerStore> open_layer_store(const Environment& environment, const std::string& workspace) {
  struct stat at_work {};
  if (stat(workspace.c_str(), &at_work) != 0) {
    return Error{ErrorCode::kPathNotFound, "no such directory: " + workspace, "--workspace", "",
                 errno};
  }
  const std::string hash = sha256_hex(workspace).substr(0, 32);
  const std::string marks = layers_directory(environment);
  if (marks.empty()) {
    return Error{ErrorCode::kSetupFailed, "there is no state directory to keep layers in", "HOME",
                 "set HOME or XDG_STATE_HOME"};
  }
  LayerStore store;
  const Result<std::string> own = usable_directory(marks, hash);
  struct stat at_home {};
  if (own.ok() && stat(own.value().c_str(), &at_home) == 0 && at_home.st_dev == at_work.st_dev) {
    store.directory = own.value();
    store.may_overlay = can_hold_upper(store.directory);
    return store;
  }
  if (!own.ok()) return own.error();
  store.directory = own.value();
  const std::string top = mount_top(workspace);
  // In a workspace that is a mount of its own, commands could reach it.
  if (top == workspace) return store;
  const std::string place = layers_beside(top);
  SBX_TRY(const OwnedFd choice, wait_for_lock(store.directory + "/choice", -1));
  const bool is_chosen = access((place + "/" + hash).c_str(), F_OK) == 0;
  // They came to be while no place could be made there, as where a run held its name.
  if (!is_chosen && has_any_layer(store)) return store;
  if (!is_made_by_us(place, marks)) {
    if (!is_chosen) return store;
    return Error{ErrorCode::kPathRefused,
                 place + " holds layers of this workspace, and is not known to be sbx's own",
                 "layer",
                 "remove it, or set XDG_STATE_HOME to the directory that it was made with"};
  }
  const Result<std::string> beside = usable_directory(place, hash);
  if (beside.ok() && can_hold_upper(beside.value())) {
    store.directory = beside.value();
    store.may_overlay = true;
  }
  return store;
}

std::vector<std::string> layer_names(const LayerStore& store) {
  std::vector<std::string> names;
  Listing listing(store.directory + "/names");
  while (const dirent* entry = listing.next()) {
    const std::string name = entry->d_name;
    if (access((store.layer(name) + "/state").c_str(), F_OK) == 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<OwnedFd> lock_layer(const LayerStore& store, const std::string& name, bool make) {
  const std::string directory = store.layer(name);
  const auto missing = [&name] {
    return Error{ErrorCode::kLayerNotFound,
                 "this workspace has no layer '" + escape_control_bytes(name) + "'", "layer",
                 "sbx-run layer list names those that there are"};
  };
  for (int tries = 0; tries < 100; ++tries) {
    if (make) SBX_CHECK_OK(make_directory(directory, 0700));
    if (access(directory.c_str(), F_OK) != 0) return missing();
    if (!make && access((directory + "/state").c_str(), F_OK) != 0) return missing();
    Result<OwnedFd> lock = lock_file(directory + "/lock");
    if (!lock.ok() && lock.error().sys_errno == ENOENT) continue;  // it is being discarded
    if (!lock.ok() && lock.error().code == ErrorCode::kLayerInUse) {
      return Error{ErrorCode::kLayerInUse,
                   "the layer '" + escape_control_bytes(name) +
                       "' is in use by a run, a session or another action",
                   "layer", "wait for its end"};
    }
    if (!lock.ok()) return lock.error();
    struct stat held {};
    struct stat there {};
    if (fstat(lock.value().get(), &held) == 0 && stat((directory + "/lock").c_str(), &there) == 0 &&
        held.st_ino == there.st_ino) {
      return lock;
    }
  }
  return missing();
}

Result<OwnedFd> lock_store(const LayerStore& store) {
  return wait_for_lock(store.directory + "/lock", store.owner_pidfd);
}

Result<LayerState> read_layer_state(const LayerStore& store, const std::string& name) {
  const Result<std::string> text = read_file(store.layer(name) + "/state", kMostState);
  if (text.ok()) return decode_layer_state(text.value());
  if (text.error().sys_errno != ENOENT) return text.error();
  return Error{ErrorCode::kLayerNotFound,
               "this workspace has no layer '" + escape_control_bytes(name) + "'", "layer",
               "sbx-run layer list names those that there are", ENOENT};
}

Status write_layer_state(const LayerStore& store, const std::string& name,
                         const LayerState& state) {
  const std::string path = store.layer(name) + "/state";
  const std::string fresh = path + ".new";
  const std::string text = encode_layer_state(state);
  const OwnedFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) return layer_failure("open(" + fresh + ")", errno);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return layer_failure("write(" + fresh + ")", errno != 0 ? errno : ENOSPC);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return layer_failure("rename(" + path + ")", errno);
  return {};
}

std::int64_t layer_runs(const LayerStore& store, const std::string& name) {
  const Result<std::string> text = read_file(store.layer(name) + "/runs", 32);
  return text.ok() ? parse_count(text.value(), INT64_MAX).value_or(0) : 0;
}

// In place: a number that grows is never shorter than before, and a file that is replaced is
// written to the disk at once.
void count_layer_run(const LayerStore& store, const std::string& name) {
  const std::string count = std::to_string(layer_runs(store, name) + 1);
  const OwnedFd file(
      open((store.layer(name) + "/runs").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (file.is_open()) (void)!write(file.get(), count.data(), count.size());
}

void rmdir_layer(const LayerStore& store, const std::string& name) {
  const std::string trash = store.directory + "/trash/" + name;
  if (rename(store.layer(name).c_str(), trash.c_str()) != 0) remove_tree(store.layer(name));
}

Result<std::string> make_epoch(const LayerStore& store, const LayerState& state) {
  SBX_TRY(std::string name, new_epoch_name());
  SBX_CHECK_OK(make_directory(store.epoch(name), 0700));
  for (std::size_t i = 0; i < state.roots.size(); ++i) {
    SBX_CHECK_OK(make_part(store, name, state, i));
  }
  return name;
}

Status make_part(const LayerStore& store, const std::string& epoch, const LayerState& state,
                 std::size_t root) {
  const std::string part = store.part(epoch, root);
  const char* const top = state.kind == KeptKind::kCopy ? "/tree" : "/upper";
  struct stat real {};
  // One that is missing meanwhile is as the layer shows it: nothing else is kept from its changes.
  if (stat(state.roots[root].c_str(), &real) != 0 &&
      (state.stack.empty() ||
       stat((store.part(state.stack.back(), root) + top).c_str(), &real) != 0)) {
    return call_failed(ErrorCode::kSetupFailed, "stat(" + state.roots[root] + ")", "layer",
                       "the layer lies over it: make it again, or discard the layer");
  }
  SBX_CHECK_OK(make_directory(part, 0700));
  SBX_CHECK_OK(make_directory(part + top, real.st_mode & 0777));
  return state.kind == KeptKind::kCopy ? Status() : make_directory(part + "/work", 0700);
}

void throw_layer_away(const LayerStore& store, const std::string& name, const Epochs& epochs) {
  // What is nobody else's can go without it, where this is told to end.
  const Result<OwnedFd> lock = lock_store(store);
  rmdir_layer(store, name);
  for (const std::string& epoch : epochs) {
    rename(store.epoch(epoch).c_str(), (store.directory + "/trash/" + epoch).c_str());
  }
  empty_trash(store.directory + "/trash");
}

void throw_forgotten_away(const LayerStore& store) {
  const Result<OwnedFd> lock = lock_store(store);
  if (!lock.ok()) return;
  bool any = false;
  for (const std::string& name : layer_names(store)) {
    const Result<LayerState> state = read_layer_state(store, name);
    if (!state.ok() || !state.value().is_thrown_away) continue;
    const Result<OwnedFd> held = lock_layer(store, name, false);
    if (!held.ok()) continue;  // its run is there
    rmdir_layer(store, name);
    any = true;
  }
  if (any) collect_garbage(store);
}

void collect_garbage(const LayerStore& store) {
  std::set<std::string> used;
  for (const std::string& name : layer_names(store)) {
    const Result<LayerState> state = read_layer_state(store, name);
    if (!state.ok()) return;  // what it uses is not known
    used.insert(state.value().stack.begin(), state.value().stack.end());
    for (const auto& [label, epochs] : state.value().labels) {
      used.insert(epochs.begin(), epochs.end());
    }
    if (!state.value().committed.empty()) used.insert(state.value().committed);
    const Result<std::string> pending =
        read_file(store.layer(name) + "/" + kPendingCommit, kEpochName);
    if (pending.ok()) used.insert(pending.value());
  }
  Listing pool(store.pool());
  while (const dirent* entry = pool.next()) {
    const std::string name = entry->d_name;
    if (used.contains(name)) continue;
    rename(store.epoch(name).c_str(), (store.directory + "/trash/" + name).c_str());
  }
  empty_trash(store.directory + "/trash");
}

}  // namespace sbx
