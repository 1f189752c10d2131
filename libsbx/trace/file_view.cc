// SPDX-License-Identifier: Apache-2.0
// The order is the kernel's: is it there, is its mount writable, do Landlock's rules cover it.
#include "trace/file_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/by_number.h"
#include "base/files.h"
#include "base/paths.h"
#include "guard/places.h"
#include "json/writer.h"
#include "model/grant.h"
#include "sys/calls.h"
#include "sys/overlay.h"
#include "trace/file_grants.h"
#include "trace/inside_paths.h"

namespace sbx {
namespace {

constexpr int kMaxLinks = 8;

// Entries of a process that lead elsewhere.
constexpr auto kProcLinks =
    std::to_array<std::string_view>({"/fd", "/root", "/cwd", "/exe", "/map_files"});

// Files there differ between inside and outside whatever the profile says. hsperfdata: what Java
// keeps of its own processes, and makes where it is missing.
bool is_own(const std::string& path) {
  return is_below(path, "/proc") || is_below(path, "/dev/pts") || is_below(path, "/dev/fd") ||
         is_below(path, "/sys/fs/cgroup") || path.starts_with("/tmp/hsperfdata_");
}

// What the settings of the caller's git are read from, of which filesystem.git_config shows a part.
bool is_git_config(const std::string& path, const SandboxPolicy& sandbox) {
  return sandbox.filesystem.home == HomeMode::kPrivate && !sandbox.home.empty() &&
         (path == sandbox.home + "/.gitconfig" || path == sandbox.home + "/.config/git/config");
}

std::uint64_t mount_flags(const OwnedFd& file) {
  struct statvfs info {};
  return fstatvfs(file.get(), &info) == 0 ? info.f_flag : 0;
}

bool is_mount_root(const OwnedFd& file) {
  struct statx info {};
  return statx(file.get(), "", AT_EMPTY_PATH, 0, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool writes(FileNeed need) {
  return need != FileNeed::kLook && need != FileNeed::kRead && need != FileNeed::kExec;
}

// Whether the host's directory has an entry that the other one has not: among as many as are looked
// at.
bool has_more(const std::string& outside, const OwnedFd& inside) {
  static constexpr int kMostEntries = 4096;
  Listing listing(AT_FDCWD, outside.c_str(), O_NOFOLLOW);
  for (int i = 0; i < kMostEntries; ++i) {
    const dirent* entry = listing.next();
    if (entry == nullptr) return false;
    struct stat info {};
    if (fstatat(inside.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
      return true;
    }
  }
  return false;
}

// Made by sbx to cover something: no mode at all.
bool is_mask(const struct stat& info) {
  return (S_ISREG(info.st_mode) && info.st_size == 0 && (info.st_mode & 0777) == 0) ||
         (S_ISDIR(info.st_mode) && (info.st_mode & 0666) == 0);
}

// Root's on the host, and nobody's where the system's /etc is shown to root.
bool is_roots_own(const std::string& path, const struct stat& info) {
  struct stat outside {};
  return geteuid() == 0 && is_below(path, "/etc") && (info.st_mode & S_IROTH) == 0 &&
         lstat(path.c_str(), &outside) == 0 && outside.st_uid != info.st_uid;
}

}  // namespace

FileView::FileView(const LaunchPlan& plan, const Policy& policy, const OwnedFd& root)
    : plan_(plan), policy_(policy), root_(root) {}

std::optional<FileRefusal> FileView::refusal(const NamedFile& file, const std::string& path) {
  const std::string normal = guard::resolve_path(path, "/");
  if (is_below(normal, "/proc")) return in_proc(file, normal);
  links_left_ = kMaxLinks;
  switch (file.need) {
    case FileNeed::kCreate:
    case FileNeed::kRemove:
    case FileNeed::kReplace:
      return in_directory(file, path.ends_with('/') ? normal : path);
    default:
      break;
  }
  const OwnedFd found = open_below(root_, path, file.follows ? O_PATH : O_PATH | O_NOFOLLOW);
  const int error = errno;
  return found.is_open() ? there(file, found) : not_there(file, normal, error);
}

// Whose entries are the sandbox's own processes: they are not to be looked up from here. Through
// some of them a call leaves /proc.
std::optional<FileRefusal> FileView::in_proc(const NamedFile& file, const std::string& path) const {
  const bool leads_out =
      std::any_of(kProcLinks.begin(), kProcLinks.end(),
                  [&](std::string_view link) { return path.find(link) != path.npos; });
  if (!writes(file.need) || leads_out || !plan_.wanted.has(Layer::kMount)) return std::nullopt;
  const OwnedFd proc = open_below(root_, "/proc", O_PATH | O_DIRECTORY);
  if (!proc.is_open() || (mount_flags(proc) & ST_RDONLY) == 0) return std::nullopt;
  return FileRefusal{Refuser::kMount, path, ""};
}

std::optional<FileRefusal> FileView::not_there(const NamedFile& file, const std::string& path,
                                               int error) {
  if (!is_missing(error) && error != EACCES) return std::nullopt;
  const bool has_shm = has_scratch(policy_.sandbox) && is_below(path, "/dev/shm");
  if (is_own(path) || has_shm || path.empty()) return std::nullopt;
  // It is in ~/.gitconfig then.
  const bool is_shared = policy_.sandbox.filesystem.git_config != GitConfig::kNone;
  if (is_shared && !writes(file.need) && is_git_config(path, policy_.sandbox)) return std::nullopt;
  // A link that leads nowhere inside: what it leads to is what was asked for.
  const OwnedFd link = open_below(root_, path, O_PATH | O_NOFOLLOW);
  if (link.is_open()) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = readlinkat(link.get(), "", text.data(), text.size());
    if (size <= 0 || --links_left_ < 0) return std::nullopt;
    const std::string target(text.data(), static_cast<std::size_t>(size));
    const std::string whole = target.starts_with('/') ? target : join_path(parent_of(path), target);
    return not_there(file, guard::resolve_path(whole, "/"), ENOENT);
  }
  if (file.creates && error == ENOENT) {
    NamedFile entry = file;
    entry.need = FileNeed::kCreate;
    entry.landlock_rights = sys::kLandlockFsMakeReg;
    if (open_below(root_, std::string(parent_of(path)), O_PATH | O_DIRECTORY).is_open()) {
      return in_directory(entry, path);
    }
  }
  if (!plan_.wanted.has(Layer::kMount)) return std::nullopt;
  // On the host, and not hidden by the host's own permissions?
  struct stat known {};
  const bool is_known = lstat(path.c_str(), &known) == 0;
  if (file.need == FileNeed::kRemove && !is_known) return std::nullopt;
  // unlink(2) of a directory fails wherever it is shown.
  const bool is_gone = file.need == FileNeed::kRemove &&
                       !(S_ISDIR(known.st_mode) && std::string_view(file.operation) == "unlink");
  const bool in_parent = is_gone || (!is_known && (file.creates || is_below_hidden(path)));
  const std::string looked_at = in_parent ? std::string(parent_of(path)) : path;
  const OwnedFd outside(
      sys::openat2(AT_FDCWD, looked_at.c_str(),
                   {O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, sys::kResolveNoMagiclinks}));
  struct stat info {};
  if (!outside.is_open() || fstat(outside.get(), &info) != 0) return std::nullopt;
  // EACCES from a directory that the host shows as well is the host's refusal.
  if (error == EACCES && shown_as(path) != "none" && !is_below_hidden(path)) return std::nullopt;
  if (is_below(path, "/dev") && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) {
    return FileRefusal{Refuser::kMount, path,
                       append_grant("filesystem.devices", json_string(literal_path(path)))};
  }
  std::string through = link_grant(looked_at, writes(file.need));
  if (through.empty()) through = grant(looked_at, writes(file.need));
  return FileRefusal{Refuser::kMount, path, std::move(through)};
}

// No root is a symlink, nor shown at one: what holds the first of them is, and what that leads to.
// Empty where none is on the way.
std::string FileView::link_grant(const std::string& path, bool to_write) const {
  const OwnedFd target(
      sys::openat2(AT_FDCWD, path.c_str(), {O_PATH | O_CLOEXEC, 0, sys::kResolveNoMagiclinks}));
  const std::string real = target.is_open() ? path_of(target.get()) : "";
  if (!real.starts_with('/') || real == path) return "";
  if (file_grant(plan_, policy_, real, to_write).empty()) return "";
  std::string roots;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string link = path.substr(0, end);
    struct stat info {};
    if (lstat(link.c_str(), &info) != 0) return "";
    if (S_ISLNK(info.st_mode)) {
      const bool is_there = open_below(root_, link, O_PATH | O_NOFOLLOW).is_open();
      if (!is_there) roots = root_entry(parent_of(link), "ro") + ", ";
      break;
    }
    if (end == path.npos) return "";
  }
  return append_grant("filesystem.roots", roots + root_entry(real, to_write ? "rw" : "ro"));
}

// Masks in /etc, of which there are many, are not in what the plan shows.
bool FileView::is_hidden(const std::string& path, const struct stat& info) const {
  if (!is_mask(info)) return false;
  if (shown_as(path) == "none") return true;
  const OwnedFd found = open_below(root_, path, O_PATH | O_NOFOLLOW);
  return is_below(path, "/etc") && found.is_open() && is_mount_root(found);
}

// The nearest directory that can be reached.
bool FileView::is_below_hidden(std::string path) const {
  struct stat info {};
  while (path != "/") {
    path = parent_of(path);
    const OwnedFd found = open_below(root_, path, O_PATH | O_NOFOLLOW);
    if (found.is_open()) return fstat(found.get(), &info) == 0 && is_hidden(path, info);
  }
  return false;
}

std::optional<FileRefusal> FileView::there(const NamedFile& file, const OwnedFd& found) {
  struct stat info {};
  const bool is_linked = std::string_view(file.operation) == "link";
  if ((file.need == FileNeed::kLook && !is_linked) || fstat(found.get(), &info) != 0) {
    return std::nullopt;
  }
  const std::string real = path_of(found.get());
  if (!real.starts_with('/')) return std::nullopt;
  if (is_linked) return by_overlay(info, real);
  const bool has_content = S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
  const std::uint64_t flags = mount_flags(found);
  if (plan_.wanted.has(Layer::kMount)) {
    if (is_hidden(real, info) || (file.need == FileNeed::kRead && is_roots_own(real, info))) {
      return FileRefusal{Refuser::kMount, real, grant(real, writes(file.need))};
    }
    if (writes(file.need) && has_content && (flags & ST_RDONLY) != 0) {
      return FileRefusal{Refuser::kMount, real, grant(real, true)};
    }
    if (file.need == FileNeed::kExec && S_ISREG(info.st_mode) && (flags & ST_NOEXEC) != 0) {
      const bool listed = policy_.sandbox.filesystem.base == Base::kTools;
      return FileRefusal{Refuser::kMount, real, listed ? "filesystem.base = \"system\"" : ""};
    }
  }
  if (writes(file.need) && has_content) {
    if (auto refusal = by_overlay(info, real)) return refusal;
  }
  if (file.need == FileNeed::kRead && S_ISDIR(info.st_mode) && is_a_way(real, info) &&
      has_more(real, found)) {
    return FileRefusal{Refuser::kMount, real, grant(real, false)};
  }
  std::uint64_t rights = file.landlock_rights;
  if (!S_ISREG(info.st_mode)) rights &= ~sys::kLandlockFsTruncate;  // nothing to cut: not asked for
  if (S_ISDIR(info.st_mode)) {
    rights = file.need == FileNeed::kRead ? sys::kLandlockFsReadDir : std::uint64_t{0};
  }
  return by_landlock(real, rights, real);
}

// A directory that is there only since a root lies below it: who lists it sees nothing else.
bool FileView::is_a_way(const std::string& path, const struct stat& info) const {
  struct stat top {};
  const auto& roots = policy_.sandbox.filesystem.roots;
  return plan_.wanted.has(Layer::kMount) && path != "/" && fstat(root_.get(), &top) == 0 &&
         info.st_dev == top.st_dev &&
         std::none_of(plan_.shown.begin(), plan_.shown.end(),
                      [&](const auto& shown) { return shown.first == path; }) &&
         std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
           return root.path != path && is_below(root.path, path);
         });
}

// A new entry, or one that goes: it is the directory that must be writable.
std::optional<FileRefusal> FileView::in_directory(const NamedFile& file, const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") return std::nullopt;
  const OwnedFd entry = open_below(root_, path, O_PATH | O_NOFOLLOW);
  const OwnedFd directory = open_below(root_, std::string(parent_of(path)), O_PATH | O_DIRECTORY);
  if (!directory.is_open()) {
    const int error = errno;
    const std::string normal = guard::resolve_path(path, "/");
    if (file.need == FileNeed::kRemove) return not_there(file, normal, error);
    NamedFile parent = file;
    parent.creates = false;
    return not_there(parent, std::string(parent_of(normal)), error);
  }
  std::string real = path_of(directory.get());
  if (!real.starts_with('/')) return std::nullopt;
  const std::string target = real == "/" ? real + name : real + "/" + name;
  struct stat info {};
  const bool exists = entry.is_open() && fstat(entry.get(), &info) == 0;
  if (exists && file.need == FileNeed::kCreate) {
    // EEXIST, from whatever is there; a stub stands for a path that must not be made.
    const bool is_stub =
        std::find(plan_.stubs.begin(), plan_.stubs.end(), target) != plan_.stubs.end();
    if (!is_stub && (!is_mask(info) || shown_as(target) != "protected")) return std::nullopt;
    return FileRefusal{Refuser::kMount, target, grant(target, true)};
  }
  if (!exists && file.need == FileNeed::kRemove) return not_there(file, target, ENOENT);
  if (plan_.wanted.has(Layer::kMount)) {
    const bool is_closed = (mount_flags(directory) & ST_RDONLY) != 0;
    // A mount point of ours can be neither moved nor removed; a file that is writable is none.
    if (exists && is_mount_root(entry) && !is_closed) {
      if (file.must_be_new && file.need == FileNeed::kReplace) return std::nullopt;  // EEXIST
      const bool helps = is_kept(target) || S_ISREG(info.st_mode);
      return FileRefusal{Refuser::kMount, target, helps ? grant(target, true) : ""};
    }
    if (is_closed) {
      std::string hidden = exists ? "" : grant_of_hosts(file, target);
      if (hidden.empty()) hidden = grant_within(real, target);
      return FileRefusal{Refuser::kMount, target, std::move(hidden)};
    }
  }
  struct stat parent {};
  if (fstat(directory.get(), &parent) == 0) {
    if (auto refusal = by_overlay(parent, real)) return refusal;
  }
  // What moves is copied up, what is removed is not.
  if (exists && std::string_view(file.operation) == "rename" && file.need == FileNeed::kRemove) {
    if (auto refusal = by_overlay(info, target)) return refusal;
  }
  std::uint64_t rights = file.landlock_rights;
  if (exists && S_ISDIR(info.st_mode)) {
    if (rights == sys::kLandlockFsRemoveFile) rights = sys::kLandlockFsRemoveDir;
    if (rights == sys::kLandlockFsMakeReg) rights = sys::kLandlockFsMakeDir;
  }
  auto refusal = by_landlock(real, rights, target);
  if (refusal) refusal->grant = grant_within(real, target);
  return refusal;
}

// What makes an entry of the directory one that can be made or removed: the entry itself may be
// nowhere yet, and as a root of its own it could not be removed.
std::string FileView::grant_within(const std::string& directory, const std::string& entry) const {
  return grant(is_kept(entry) ? entry : directory, true);
}

bool FileView::is_kept(const std::string& path) const {
  return is_always_protected(policy_, path) || shown_as(path) == "protected" ||
         is_protected_by_name(policy_, path);
}

// Of an entry that is to be made, and that the host has: it is only not shown, and needs no more
// than to be. What would take a file's place needs the directory. Empty where that is so, too.
std::string FileView::grant_of_hosts(const NamedFile& file, const std::string& entry) const {
  struct stat known {};
  const bool is_known = file.need != FileNeed::kRemove && stat(entry.c_str(), &known) == 0;
  if (!is_known || (file.need == FileNeed::kReplace && !S_ISDIR(known.st_mode))) return "";
  std::string through = link_grant(entry, true);
  return through.empty() ? grant(entry, true) : through;
}

// What is copied up keeps its owner and group, and only the caller's own exist in the overlay's
// user namespace: EOVERFLOW for any other.
std::optional<FileRefusal> FileView::by_overlay(const struct stat& info,
                                                const std::string& path) const {
  if (!policy_.sandbox.filesystem.overlay || !plan_.wanted.has(Layer::kUser)) return std::nullopt;
  const std::string shown = shown_as(path);
  if (shown != "overlay" && shown != "layer") return std::nullopt;
  // The directories on the way are copied up too.
  struct stat one = info;
  std::string at = path;
  while (one.st_uid == geteuid() && one.st_gid == getegid()) {
    at = parent_of(at);
    const std::string how = shown_as(at);
    const OwnedFd directory = open_below(root_, at, O_PATH | O_NOFOLLOW);
    const bool is_over = at == "/" || (how != "overlay" && how != "layer");
    if (is_over || !directory.is_open() || fstat(directory.get(), &one) != 0) return std::nullopt;
  }
  return FileRefusal{Refuser::kMount, at, "filesystem.overlay = false", true};
}

// Whether a level below the one that is written to has the directory too, and that has not taken
// its place. What the levels hold was written from inside.
bool FileView::lies_below(const std::string& path) const {
  struct stat info {};
  bool is_below_too = lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  for (const ViewLayer::Part& part : plan_.layer.parts) {
    if (!is_below(path, part.root) || path == part.root || !part.copy.empty()) continue;
    const auto open_in = [&](const std::string& level, const std::string& directory) {
      const OwnedFd top(open((plan_.layer.store + "/" + level).c_str(), O_PATH | O_CLOEXEC));
      return OwnedFd(sys::openat2(
          top.get(), directory.c_str() + part.root.size() + 1,
          {O_PATH | O_DIRECTORY | O_CLOEXEC, 0, sys::kResolveBeneath | sys::kResolveNoSymlinks}));
    };
    for (const std::string& lower : part.lowers) {
      is_below_too = is_below_too || open_in(lower, path).is_open();
    }
    for (std::string at = path; at != part.root; at = parent_of(at)) {
      const OwnedFd upper = open_in(part.upper, at);
      const std::string name = by_number(upper.get());
      char value = 0;
      if (getxattr(name.c_str(), sys::kOverlayOpaque, &value, 1) == 1 && value == 'y') {
        return false;
      }
    }
  }
  return is_below_too;
}

// Overlayfs in a user namespace moves no directory that it merges, or that a lower level has:
// EXDEV.
std::optional<FileRefusal> FileView::move_refusal(const NamedFile& file, const std::string& path) {
  const bool moves = file.need == FileNeed::kRemove && std::string_view(file.operation) == "rename";
  if (!moves || !policy_.sandbox.filesystem.overlay) return std::nullopt;
  const OwnedFd entry = open_below(root_, path, O_PATH | O_NOFOLLOW);
  struct stat info {};
  if (!entry.is_open() || fstat(entry.get(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return std::nullopt;
  }
  const std::string real = path_of(entry.get());
  const std::string shown = shown_as(real);
  if (shown != "overlay" && shown != "layer") return std::nullopt;
  if (!lies_below(real)) return std::nullopt;
  return FileRefusal{Refuser::kMount, real,
                     "copy it and remove it, as mv does: an overlay moves no directory of the "
                     "real tree or of a checkpoint",
                     true};
}

std::optional<FileRefusal> FileView::link_refusal(const std::string& from,
                                                  const std::string& to) const {
  if (!plan_.wanted.has(Layer::kMount)) return std::nullopt;
  const OwnedFd file = open_below(root_, from, O_PATH | O_NOFOLLOW);
  const OwnedFd directory = open_below(root_, std::string(parent_of(to)), O_PATH | O_DIRECTORY);
  struct statx one {};
  struct statx other {};
  if (!file.is_open() || !directory.is_open() ||
      statx(file.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &one) != 0 ||
      statx(directory.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &other) != 0) {
    return std::nullopt;
  }
  const bool is_one_system =
      one.stx_dev_major == other.stx_dev_major && one.stx_dev_minor == other.stx_dev_minor;
  if (!is_one_system || one.stx_mnt_id == other.stx_mnt_id) return std::nullopt;
  return FileRefusal{Refuser::kMount, path_of(file.get()),
                     "a root that holds it and " + to + ", in place of two: EXDEV"};
}

// landlock(7): a right is had on a file when a rule on it or on any directory above grants it.
std::optional<FileRefusal> FileView::by_landlock(const std::string& real, std::uint64_t rights,
                                                 const std::string& target) {
  if (!plan_.wanted.has(Layer::kLandlock) || rights == 0) return std::nullopt;
  if (!rules_) read_rules();
  std::uint64_t granted = ~handled_;
  for (const auto& [path, given] : *rules_) {
    if (is_below(real, path)) granted |= given;
  }
  if ((rights & ~granted) == 0) return std::nullopt;
  constexpr std::uint64_t kOnlyReads =
      sys::kLandlockFsReadFile | sys::kLandlockFsReadDir | sys::kLandlockFsExecute;
  return FileRefusal{Refuser::kLandlock, target,
                     grant(target, (rights & ~granted & ~kOnlyReads) != 0)};
}

void FileView::read_rules() {
  rules_.emplace();
  for (const Op& op : plan_.ops) {
    if (const auto* const ruleset = op.as<op::LandlockCreate>()) handled_ = ruleset->files;
    const auto* const rule = op.as<op::LandlockAllow>();
    if (rule == nullptr) continue;
    const OwnedFd file = open_below(root_, plan_.text(rule->path), O_PATH);
    if (file.is_open()) rules_->emplace_back(path_of(file.get()), rule->rights);
  }
}

std::string FileView::grant(const std::string& path, bool to_write) const {
  const bool is_setting = !to_write && is_git_config(path, policy_.sandbox) &&
                          policy_.sandbox.filesystem.git_config == GitConfig::kNone;
  if (is_setting) return "filesystem.git_config = \"user\"";
  return file_grant(plan_, policy_, path, to_write);
}

std::string FileView::shown_as(const std::string& path) const { return sbx::shown_as(plan_, path); }

}  // namespace sbx
