// SPDX-License-Identifier: Apache-2.0
// Checked, staged under other names, renamed; undone in the opposite order where one step fails.
#include "host_files/workspace_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/by_number.h"
#include "base/files.h"
#include "base/hex.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/owners.h"
#include "host_files/watchdog.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr unsigned kDefaultMode = 0644;
constexpr unsigned kDirectoryMode = 0755;
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;  // what a socket takes at once

std::string where_of(std::size_t index, const char* field) {
  return "/files/" + std::to_string(index) + "/" + field;
}

Error refused(std::size_t index, const std::string& path, const std::string& why,
              std::string hint = "") {
  return Error{ErrorCode::kPathRefused, "the file " + escape_control_bytes(path) + " " + why,
               where_of(index, "path"), std::move(hint)};
}

Error failed(std::size_t index, const std::string& path, const char* call) {
  const int error = errno;
  return call_failed(ErrorCode::kSetupFailed,
                     std::string(call) + "(" + escape_control_bytes(path) + ")",
                     where_of(index, "path"), "no file of the request was written", error);
}

// "./a//b" → "a/b". Errors: kPathRefused.
Result<std::string> inner_path(std::size_t index, const std::string& path) {
  if (path.starts_with('/')) {
    return refused(index, path, "has an absolute path", "write it relative to the workspace");
  }
  if (path.ends_with('/')) return refused(index, path, "ends in a slash");
  const auto normal = normal_path(path, "/", where_of(index, "path"));
  if (!normal.ok()) return normal.error();
  if (normal.value() == "/") return refused(index, path, "has no name");
  for (const std::string_view part : split(normal.value(), '/')) {
    if (part.size() > 255) return refused(index, path, "has a name of more than 255 bytes");
    // Also below the top, where a run that starts there would go by it.
    if (part == kProjectSettings) return refused(index, path, "is a project's own setting");
  }
  return normal.value().substr(1);
}

// Beneath `dir`, through no symlink. `flags` without O_CLOEXEC.
OwnedFd open_beneath(int dir, const std::string& path, int flags) {
  sys::OpenHow how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = sys::kResolveBeneath | sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks;
  return OwnedFd(sys::openat2(dir, path.c_str(), how));
}

std::string random_name() {
  unsigned char bytes[12];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
  std::string name = ".sbx-";
  for (const unsigned char byte : bytes) append_hex(name, byte);
  return name;
}

class FileWriter {
 public:
  FileWriter(const std::string& workspace, const std::vector<RequestFile>& files, const View& view)
      : workspace_(workspace), files_(files), view_(view) {}

  Status check(std::optional<std::int64_t> file_bytes, const std::string& place) {
    top_.reset(open((place.empty() ? workspace_ : place).c_str(),
                    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!top_.is_open()) return failed(0, workspace_, "open");
    SBX_CHECK_OK(check_sizes(file_bytes));
    SBX_CHECK_OK(check_names());
    for (std::size_t i = 0; i < files_.size(); ++i) SBX_CHECK_OK(check_place(i));
    return {};
  }

  Status write() {
    prefix_ = random_name();
    if (prefix_.empty()) return failed(0, workspace_, "getrandom");
    SBX_TRY(const std::string top, real_path(by_number(top_.get())));
    Watchdog watchdog;
    SBX_CHECK_OK(watchdog.tell(Left::kStaged, staged_in(top)));
    Status status = write_all();
    if (!status.ok()) undo();
    watchdog.dismiss();
    return status;
  }

  Result<std::vector<LaidFile>> lay() const {
    std::vector<LaidFile> out;
    std::set<std::string, std::less<>> directories;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const std::string& path = targets_[i].path;
      for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
        const std::string part = path.substr(0, at);
        if (!directories.insert(part).second) continue;
        SBX_TRY(const unsigned mode, mode_in_overlay(i, part));
        add_laid(whole(part), mode, nullptr, out);
      }
      add_laid(whole(path), files_[i].mode.value_or(kDefaultMode), &files_[i].content, out);
    }
    return out;
  }

 private:
  enum class State : std::uint8_t { kChecked, kStaged, kMade, kReplaced };

  struct Target {
    std::string path;    // relative, normal
    std::string staged;  // the name, in the same directory, of the new text; later of the old one
    State state = State::kChecked;
  };

  // --- checks ---

  Status check_sizes(std::optional<std::int64_t> file_bytes) const {
    if (files_.size() > kMostFiles) {
      return Error{ErrorCode::kTooLarge,
                   std::to_string(files_.size()) + " files, more than the " +
                       std::to_string(kMostFiles) + " that a request may have",
                   "/files", ""};
    }
    std::int64_t total = 0;
    std::size_t directories = 0;  // on the ways to them: each is opened, or made
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::string& path = files_[i].path;
      directories += static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
      if (directories > kMostDirectories) {
        return Error{ErrorCode::kTooLarge,
                     "the paths of the files lead through more than the " +
                         std::to_string(kMostDirectories) + " directories that they may",
                     "/files/" + std::to_string(i) + "/path", "use several requests"};
      }
      const auto size = static_cast<std::int64_t>(files_[i].content.size());
      total += size;
      if (file_bytes && size > *file_bytes) {
        return Error{ErrorCode::kTooLarge,
                     "the file " + escape_control_bytes(files_[i].path) + " has " +
                         std::to_string(size) + " bytes, above the limit of " +
                         std::to_string(*file_bytes),
                     where_of(i, "content"), "raise file_kb, as far as ceilings.file_kb allows"};
      }
      if (total > kMostFileBytes) {
        return Error{
            ErrorCode::kTooLarge,
            "the files have more than " + std::to_string(kMostFileBytes) + " bytes together",
            "/files", ""};
      }
      if (files_[i].mode && (*files_[i].mode & ~0777U) != 0) {
        return Error{ErrorCode::kOutOfRange, "a mode has permission bits only, such as 755",
                     where_of(i, "mode"), ""};
      }
    }
    return {};
  }

  // No two files of one path, none below another.
  Status check_names() {
    std::map<std::string, std::size_t, std::less<>> seen;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      SBX_TRY(std::string path, inner_path(i, files_[i].path));
      if (!seen.emplace(path, i).second) return refused(i, path, "stands twice in the list");
      targets_.push_back({std::move(path), "", State::kChecked});
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      std::string_view above = directory_part(targets_[i].path);
      for (; !above.empty(); above = directory_part(above)) {
        if (seen.contains(above)) {
          return refused(i, targets_[i].path, "lies below another file of the list");
        }
      }
    }
    return {};
  }

  Status check_place(std::size_t index) const {
    const std::string& path = targets_[index].path;
    SBX_CHECK_OK(check_policy(index, whole(path)));
    std::string above(directory_part(path));
    OwnedFd parent = open_existing(above);
    if (!parent.is_open() && errno != ENOENT) return bad_parent(index, path);
    if (!parent.is_open()) {
      // Its deepest parent that exists must be a directory in which one can be made.
      for (; !parent.is_open() && errno == ENOENT; parent = open_existing(above)) {
        above = directory_part(above);
      }
      return parent.is_open() ? Status{} : Status{bad_parent(index, path)};
    }
    struct stat info {};
    if (fstatat(parent.get(), name_part(path).data(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Status{} : Status{failed(index, path, "fstatat")};
    }
    return check_kind(index, path, info.st_mode);
  }

  OwnedFd open_existing(const std::string& path) const {
    return open_beneath(top_.get(), path.empty() ? "." : path, O_PATH | O_DIRECTORY);
  }

  static Status check_kind(std::size_t index, const std::string& path, mode_t mode) {
    if (S_ISREG(mode)) return {};
    if (S_ISDIR(mode)) return refused(index, path, "would replace a directory");
    if (S_ISLNK(mode)) return refused(index, path, "would replace a symlink", "name its target");
    return refused(index, path, "would replace a device, a FIFO or a socket");
  }

  static Error bad_parent(std::size_t index, const std::string& path) {
    switch (errno) {
      case ELOOP:
        return refused(index, path, "has a symlink on its way", "name the real directory");
      case ENOTDIR:
        return refused(index, path, "lies below something that is no directory");
      case EXDEV:
        return refused(index, path, "leads out of the workspace");
      default:
        return failed(index, path, "openat2");
    }
  }

  std::string whole(const std::string& path) const {
    return workspace_ == "/" ? "/" + path : workspace_ + "/" + path;
  }

  Status check_policy(std::size_t index, const std::string& path) const {
    const ViewRoot* const deepest = deepest_at(view_.roots, path, &ViewRoot::path);
    if (deepest == nullptr || deepest->access == Access::kNone) {
      return refused(index, path, "lies where the policy shows nothing",
                     "the operator grants it with filesystem.roots");
    }
    if (deepest->access == Access::kReadOnly) {
      return refused(index, path, "lies in a read-only root",
                     "the operator grants it with filesystem.roots");
    }
    for (const ViewRoot& absent : view_.absent) {
      if (absent.access != Access::kReadWrite && is_below(path, absent.path()) &&
          is_below(absent.path(), deepest->path())) {
        return refused(index, path, "lies where the policy lets nothing be written",
                       "see filesystem.roots");
      }
    }
    for (const ViewProtect& protect : view_.protects) {
      if (is_below(path, protect.node.path) || is_below(protect.node.path, path)) {
        return refused(index, path, "is protected", "see filesystem.protect");
      }
    }
    return {};
  }

  // --- in overlays ---

  // A directory that exists is copied up.
  Result<unsigned> mode_in_overlay(std::size_t index, const std::string& path) const {
    const OwnedFd real = open_existing(path);
    struct stat info {};
    if (!real.is_open() || fstat(real.get(), &info) != 0) {
      if (errno == ENOENT) return kDirectoryMode;
      return bad_parent(index, path);
    }
    if (!is_foreign(info)) return info.st_mode & 0777;
    return refused(index, targets_[index].path, "lies below a directory that no overlay copies",
                   "it is another owner's; the operator grants it with filesystem.overlay = false");
  }

  void add_laid(const std::string& path, unsigned mode, const std::string* content,
                std::vector<LaidFile>& out) const {
    const ViewRoot* const root = deepest_at(view_.roots, path, &ViewRoot::path);
    const bool is_within = root != nullptr && (content != nullptr || root->path() != path);
    if (!is_within) return;
    const bool is_file = root->path() == path;
    const std::size_t top = is_file ? path.rfind('/') : root->path().size();
    out.push_back({root->path(), path.substr(top), mode, content});
  }

  // --- writing ---

  // Where staged files come to lie, as far as the watchdog can be told.
  std::vector<std::string> staged_in(const std::string& top) const {
    std::vector<std::string> out;
    std::set<std::string_view> seen;
    std::size_t size = 0;
    for (const Target& target : targets_) {
      const std::string_view directory = directory_part(target.path);
      if (!seen.insert(directory).second) continue;
      out.push_back(top + "/" + std::string(directory) + "/" + prefix_);
      size += out.back().size();
      if (size > kMostAtOnce) break;
    }
    return out;
  }

  std::string staged_name() { return prefix_ + "-" + std::to_string(staged_++); }

  Status write_all() {
    for (std::size_t i = 0; i < targets_.size(); ++i) SBX_CHECK_OK(stage(i));
    for (std::size_t i = 0; i < targets_.size(); ++i) SBX_CHECK_OK(commit(i));
    for (const Target& target : targets_) {
      if (target.state != State::kReplaced) continue;
      const OwnedFd parent = open_existing(std::string(directory_part(target.path)));
      if (parent.is_open()) unlinkat(parent.get(), target.staged.c_str(), 0);
    }
    return {};
  }

  // What root makes in another user's root is that user's, as what its commands make there is.
  bool give_away(int fd, const std::string& path) const {
    const ViewRoot* const root = deepest_at(view_.roots, whole(path), &ViewRoot::path);
    return root == nullptr || !root->owner || fchown(fd, root->owner->uid, root->owner->gid) == 0 ||
           errno == EPERM;
  }

  // The directory `path`, made with its parents where it is missing; each one made is noted.
  Result<OwnedFd> make_directory(std::size_t index, const std::string& path) {
    OwnedFd at = open_existing("");
    std::string sofar;
    for (const std::string_view part : split(path, '/')) {
      if (part.empty()) continue;
      const std::string name(part);
      sofar += (sofar.empty() ? "" : "/") + name;
      OwnedFd next = open_beneath(at.get(), name, O_PATH | O_DIRECTORY);
      if (!next.is_open() && errno == ENOENT) {
        if (mkdirat(at.get(), name.c_str(), 0700) != 0) return failed(index, sofar, "mkdirat");
        made_.push_back(sofar);
        // Not by name: a link could stand there by now.
        const OwnedFd made = open_beneath(at.get(), name, O_RDONLY | O_DIRECTORY);
        if (made.is_open() && !give_away(made.get(), sofar)) return failed(index, sofar, "fchown");
        if (made.is_open()) fchmod(made.get(), kDirectoryMode);
        next = open_beneath(at.get(), name, O_PATH | O_DIRECTORY);
      }
      if (!next.is_open()) return bad_parent(index, sofar);
      at = std::move(next);
    }
    if (!at.is_open()) return failed(index, path, "openat2");
    return at;
  }

  Status stage(std::size_t index) {
    Target& target = targets_[index];
    SBX_TRY(const OwnedFd parent, make_directory(index, std::string(directory_part(target.path))));
    target.staged = staged_name();
    const OwnedFd file(openat(parent.get(), target.staged.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return failed(index, target.path, "openat");
    target.state = State::kStaged;
    if (!sbx::write_all(file.get(), files_[index].content)) {
      return failed(index, target.path, "write");
    }
    if (!give_away(file.get(), target.path)) return failed(index, target.path, "fchown");
    if (fchmod(file.get(), files_[index].mode.value_or(kDefaultMode)) != 0) {
      return failed(index, target.path, "fchmod");
    }
    return {};
  }

  Status commit(std::size_t index) {
    Target& target = targets_[index];
    const OwnedFd parent = open_existing(std::string(directory_part(target.path)));
    if (!parent.is_open()) return bad_parent(index, target.path);
    const int dir = parent.get();
    const std::string name(name_part(target.path));
    if (renameat2(dir, target.staged.c_str(), dir, name.c_str(), RENAME_NOREPLACE) == 0) {
      target.state = State::kMade;
      return {};
    }
    // Some file systems know no flags (EINVAL): a link does not replace anything either.
    if (errno == EINVAL && linkat(dir, target.staged.c_str(), dir, name.c_str(), 0) == 0) {
      unlinkat(dir, target.staged.c_str(), 0);
      target.state = State::kMade;
      return {};
    }
    if (errno != EEXIST) return failed(index, target.path, "renameat2");
    struct stat info {};
    if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return failed(index, target.path, "fstatat");
    }
    SBX_CHECK_OK(check_kind(index, target.path, info.st_mode));
    return replace(index, dir, name);
  }

  // The old file stays under the name `staged` until all are in place.
  Status replace(std::size_t index, int dir, const std::string& name) {
    Target& target = targets_[index];
    if (renameat2(dir, target.staged.c_str(), dir, name.c_str(), RENAME_EXCHANGE) != 0) {
      if (errno != EINVAL) return failed(index, target.path, "renameat2");
      const std::string old = staged_name();
      if (linkat(dir, name.c_str(), dir, old.c_str(), 0) != 0) {
        return failed(index, target.path, "linkat");
      }
      if (renameat(dir, target.staged.c_str(), dir, name.c_str()) != 0) {
        const Error error = failed(index, target.path, "renameat");
        unlinkat(dir, old.c_str(), 0);
        return error;
      }
      target.staged = old;
    }
    target.state = State::kReplaced;
    return {};
  }

  void undo() {
    for (auto target = targets_.rbegin(); target != targets_.rend(); ++target) {
      if (target->state == State::kChecked) continue;
      const OwnedFd parent = open_existing(std::string(directory_part(target->path)));
      if (!parent.is_open()) continue;
      const std::string name(name_part(target->path));
      if (target->state == State::kStaged) unlinkat(parent.get(), target->staged.c_str(), 0);
      if (target->state == State::kMade) unlinkat(parent.get(), name.c_str(), 0);
      if (target->state == State::kReplaced) {
        renameat(parent.get(), target->staged.c_str(), parent.get(), name.c_str());
      }
    }
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
      const OwnedFd parent = open_existing(std::string(directory_part(*path)));
      if (parent.is_open()) unlinkat(parent.get(), name_part(*path).data(), AT_REMOVEDIR);
    }
  }

  const std::string& workspace_;
  const std::vector<RequestFile>& files_;
  const View& view_;
  OwnedFd top_;
  std::vector<Target> targets_;
  std::vector<std::string> made_;  // directories, parents first
  std::string prefix_;             // of the names of staged files
  std::size_t staged_ = 0;
};

}  // namespace

Status write_workspace_files(const std::string& workspace, const std::vector<RequestFile>& files,
                             const View& view, std::optional<std::int64_t> file_bytes,
                             const std::string& place) {
  if (files.empty()) return {};
  FileWriter writer(workspace, files, view);
  SBX_CHECK_OK(writer.check(file_bytes, place));
  return writer.write();
}

Result<std::vector<LaidFile>> lay_workspace_files(const std::string& workspace,
                                                  const std::vector<RequestFile>& files,
                                                  const View& view,
                                                  std::optional<std::int64_t> file_bytes) {
  FileWriter writer(workspace, files, view);
  SBX_CHECK_OK(writer.check(file_bytes, {}));
  return writer.lay();
}

void remove_staged(const std::string& prefix) {
  const std::size_t slash = prefix.rfind('/');
  const OwnedFd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const OwnedFd directory =
      open_beneath(root.get(), "." + prefix.substr(0, slash), O_PATH | O_DIRECTORY);
  if (!directory.is_open()) return;
  Listing listing(directory.get(), ".");
  while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
    if (std::string_view(entry->d_name).starts_with(prefix.c_str() + slash + 1)) {
      unlinkat(listing.fd(), entry->d_name, 0);
    }
  }
}

}  // namespace sbx
