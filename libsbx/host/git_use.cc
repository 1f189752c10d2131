// SPDX-License-Identifier: Apache-2.0
// gitrepository-layout(5), in the order in which git looks.
#include "host/git_use.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/git_files.h"
#include "host/git_outside.h"
#include "host/protect.h"
#include "sys/calls.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxText = std::size_t{256} << 10;  // of a configuration or a hook
constexpr std::size_t kMaxIndex = std::size_t{64} << 20;
constexpr std::size_t kMaxHooks = 256;
constexpr std::size_t kMaxGitlinks = 256;
constexpr std::size_t kMaxRepositories = 512;
constexpr int kMaxLinks = 16;
constexpr int kMaxDepth = 5;  // of inclusions, and of repositories within repositories

// What one look may cost in all, about half a second of whoever looks, though a repository can lead
// on and on: a byte that is read is 1, and opening, listing and hashing are as many more.
constexpr std::size_t kMostWork = std::size_t{128} << 20;
constexpr std::size_t kOpenWork = 4096;
constexpr std::size_t kPathByteWork = 64;
constexpr std::size_t kListedWork = 512;
constexpr std::size_t kParsedByteWork = 24;  // a configuration may be all short settings
constexpr std::size_t kIncludeWork = 256;    // though it is known already
constexpr std::size_t kHashedByteWork = 8;
constexpr std::string_view kTooMuch = "more than is looked at at all";

// What stands for its own being there: a new one is no news, one that is gone is.
constexpr std::string_view kHead = "HEAD";

std::string below(std::string_view base, const std::string& path) {
  return path.starts_with('/') ? path : join_path(base, path);
}
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(std::string_view("\n\r\0", 3))));
}

class Looker {
 public:
  explicit Looker(const std::vector<ViewRoot>& roots) : roots_(roots) {
    for (const ViewRoot& root : roots) {
      if (root.access != Access::kReadWrite || root.node.kind != NodeKind::kDirectory) continue;
      const sys::OpenHow how{O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0,
                             sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
      OwnedFd fd(sys::openat2(AT_FDCWD, root.node.path.c_str(), how));
      if (fd.is_open()) tops_.emplace(root.node.path, std::move(fd));
    }
  }

  GitUse look() {
    for (const auto& [path, fd] : tops_) {
      look_in(path, 0);
      // git takes the directory itself for one where it has no `.git` that it can use.
      const bool is_bare =
          exists(join_path(path, "HEAD")) &&
          ((exists(join_path(path, "objects")) && exists(join_path(path, "refs"))) ||
           exists(join_path(path, kGitCommonDirectory)));
      if (!is_bare) continue;
      out_[path] = "a bare repository";
      add_repository(path, path, 0);
    }
    if (work_left_ == 0) {
      for (const auto& [path, fd] : tops_) out_[path] = kTooMuch;
    }
    return std::move(out_);
  }

 private:
  // False: the look is over.
  bool spend(std::size_t work) {
    work_left_ -= std::min(work, work_left_);
    return work_left_ > 0;
  }

  // The deepest root that holds `path`, where that is one of ours.
  const std::pair<const std::string, OwnedFd>* top_of(const std::string& path) const {
    const ViewRoot* deepest = nullptr;
    for (const ViewRoot& root : roots_) {
      const bool deeper = deepest == nullptr || root.node.path.size() > deepest->node.path.size();
      if (is_below(path, root.node.path) && deeper) deepest = &root;
    }
    const auto found = deepest == nullptr ? tops_.end() : tops_.find(deepest->node.path);
    return found == tops_.end() ? nullptr : &*found;
  }

  OwnedFd open_exactly(const std::string& path, std::uint64_t flags) {
    const auto* top = top_of(path);
    if (!spend(kOpenWork + kPathByteWork * path.size()) || top == nullptr) {
      errno = ENOENT;
      return {};
    }
    const std::size_t size = top->first == "/" ? 1 : top->first.size() + 1;
    const std::string rest = path.size() < size ? "." : path.substr(size);
    // openat2(2) takes little beside O_PATH.
    if ((flags & O_PATH) == 0) flags |= O_NONBLOCK | O_NOCTTY;
    const sys::OpenHow how{
        flags | O_NOFOLLOW | O_CLOEXEC, 0,
        sys::kResolveBeneath | sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
    return OwnedFd(sys::openat2(top->second.get(), rest.empty() ? "." : rest.c_str(), how));
  }

  // `path` without symlinks and "..": each symlink that a command could turn is written down.
  // nullopt: there are too many, or the look is over.
  std::optional<std::string> real(const std::string& path) {
    std::deque<std::string> left;
    for (const std::string_view part : split(path, '/')) left.emplace_back(part);
    std::string at = "/";
    int links = 0;
    while (!left.empty()) {
      if (!spend(1)) return std::nullopt;
      const std::string part = std::move(left.front());
      left.pop_front();
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        at = parent_of(at);
        continue;
      }
      const std::string next = join_path(at, part);
      if (next.size() >= PATH_MAX) return std::nullopt;
      const OwnedFd fd = open_exactly(next, O_PATH);
      struct stat info {};
      if (!fd.is_open() || fstat(fd.get(), &info) != 0 || !S_ISLNK(info.st_mode)) {
        at = next;
        continue;
      }
      std::array<char, PATH_MAX> text{};
      const ssize_t size = readlinkat(fd.get(), "", text.data(), text.size());
      const std::string target(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
      if (++links > kMaxLinks || target.empty()) return std::nullopt;
      if (!spend(kPathByteWork * target.size())) return std::nullopt;
      out_[next] = "-> " + target;
      if (target.starts_with('/')) at = "/";
      const auto steps = split(target, '/');
      for (auto step = steps.rbegin(); step != steps.rend(); ++step) left.emplace_front(*step);
    }
    return at;
  }

  // Closed where nothing is, or nothing that a command can write; with O_PATH where it may not be
  // read: git executes that all the same, and needs no list of a directory.
  OwnedFd open_file(std::string path, std::uint64_t flags) {
    OwnedFd fd = open_exactly(path, flags);
    // Of a directory that is wanted, and no symlink to one, the kernel says ENOTDIR.
    if (!fd.is_open() && (errno == ELOOP || errno == EXDEV || errno == ENOTDIR)) {
      const std::optional<std::string> target = real(path);
      if (!target) return {};
      path = *target;
      fd = open_exactly(path, flags);
    }
    return fd.is_open() || errno != EACCES ? std::move(fd) : open_exactly(path, flags | O_PATH);
  }

  bool exists(const std::string& path) { return open_file(path, O_PATH).is_open(); }

  std::optional<std::string> read_text(int fd, std::size_t max) {
    struct stat info {};
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) > max) return std::nullopt;
    if (!spend(static_cast<std::size_t>(info.st_size))) return std::nullopt;
    Result<std::string> text = read_up_to(fd, static_cast<std::size_t>(info.st_size));
    return text.ok() ? std::optional(std::move(text).value()) : std::nullopt;
  }

  // What stands there, and its text where that is a small file.
  static std::string mark_of(int fd, const std::optional<std::string>& text) {
    struct stat info {};
    if (fstat(fd, &info) != 0) return "?";
    std::string kind = std::to_string(info.st_mode & (S_IFMT | 0111));
    if (text) return kind + ":" + sha256_hex(*text);
    if (S_ISDIR(info.st_mode)) return kind;
    return kind + ":" + std::to_string(info.st_ino) + ":" + std::to_string(info.st_size) + ":" +
           std::to_string(info.st_ctim.tv_sec) + "." + std::to_string(info.st_ctim.tv_nsec);
  }

  std::optional<std::string> note(const std::string& path, std::size_t max = kMaxText) {
    const OwnedFd fd = open_file(path, O_RDONLY);
    if (!fd.is_open()) return std::nullopt;
    std::optional<std::string> text = read_text(fd.get(), max);
    if (text) spend(kHashedByteWork * text->size());
    out_[path] = mark_of(fd.get(), text);
    return text;
  }

  GitConfigPaths note_config(const std::string& path, int depth) {
    const std::optional<std::string> text = note(path);
    if (!text || !spend(kParsedByteWork * text->size())) return {};
    GitConfigPaths found = read_git_config(*text);
    for (const std::string& include : found.includes) {
      if (!spend(kIncludeWork)) break;
      if (include.empty() || include.starts_with('~')) continue;
      if (depth >= kMaxDepth) {
        leads_on_ = true;
        break;
      }
      const std::string included = below(parent_of(path), include);
      if (out_.contains(included)) continue;
      const GitConfigPaths more = note_config(included, depth + 1);
      if (more.hooks_path) found.hooks_path = more.hooks_path;
    }
    return found;
  }

  // `take` answers whether to go on.
  template <typename Take>
  void each_entry(const std::string& directory, Take take) {
    const OwnedFd fd = open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!fd.is_open()) return;
    Listing listing(fd.get(), ".");
    if (!listing.is_open()) out_[directory] = kTooMuch;
    while (const dirent* entry = listing.next()) {
      if (!spend(kListedWork) || !take(std::string(entry->d_name))) return;
    }
  }

  void note_hooks(const std::string& path) {
    std::size_t count = 0;
    each_entry(path, [&](const std::string& name) {
      // The samples that every repository has are never run.
      if (name.ends_with(".sample")) return true;
      if (++count > kMaxHooks) {
        out_[path] = kTooMuch;
        return false;
      }
      (void)note(join_path(path, name));
      return true;
    });
  }

  // A directory that git would use for the work tree `top`.
  void add_repository(const std::string& directory, const std::string& top, int depth) {
    if (!seen_.insert(directory + "\n" + top).second) return;
    if (seen_.size() > kMaxRepositories) {
      out_[top] = kTooMuch;
      return;
    }
    if (exists(join_path(directory, kHead))) out_.emplace(join_path(directory, kHead), kHead);
    std::string common = directory;
    if (const auto text = note(join_path(directory, kGitCommonDirectory))) {
      common = real(below(directory, first_line(*text))).value_or(directory);
    }
    GitConfigPaths config = note_config(join_path(common, "config"), 0);
    const GitConfigPaths own = note_config(join_path(directory, kGitWorktreeSettings), 0);
    if (own.hooks_path) config.hooks_path = own.hooks_path;
    // Where all was too much, that is said of the root.
    if (std::exchange(leads_on_, false) && work_left_ > 0)
      out_[join_path(common, "config")] = kTooMuch;
    note_hooks(join_path(common, "hooks"));
    if (config.hooks_path && !config.hooks_path->empty() && !config.hooks_path->starts_with('~')) {
      note_hooks(below(top, *config.hooks_path));
    }
    if (common == directory) {
      note_worktrees(directory);
    } else {
      note_entries(common);
    }
    add_gitlinks(directory, join_path(directory, "index"), top, config.has_sha256, depth);
  }

  // What lies where a linked worktree has its settings from, and git makes nothing there: the start
  // of a rebase, say, which the main checkout would go on with.
  void note_entries(const std::string& directory) {
    each_entry(directory, [&](const std::string& name) {
      if (!is_shared_in_git(name)) out_.emplace(join_path(directory, name), "there");
      return true;
    });
  }

  // Those that lie elsewhere, and have their settings from where their own directory says.
  void note_worktrees(const std::string& directory) {
    each_entry(join_path(directory, "worktrees"), [&](const std::string& name) {
      const std::string own = join_path(directory, "worktrees/" + name);
      const std::string common = join_path(own, kGitCommonDirectory);
      const OwnedFd file = open_file(common, O_RDONLY);
      if (!file.is_open()) return true;
      const std::optional<std::string> text = read_text(file.get(), PATH_MAX);
      // As git makes it.
      if (!text || first_line(*text) != "../..") out_[common] = mark_of(file.get(), text);
      (void)note_config(join_path(own, kGitWorktreeSettings), 0);
      return true;
    });
  }

  void add_gitlinks(const std::string& directory, const std::string& index, const std::string& top,
                    bool has_sha256, int depth) {
    const OwnedFd fd = open_file(index, O_RDONLY);
    if (!fd.is_open()) return;
    const std::optional<std::string> text = read_text(fd.get(), kMaxIndex);
    const Gitlinks links =
        text ? read_gitlinks(*text, has_sha256 ? 32 : 20, kMaxGitlinks) : Gitlinks{{}, {}, false};
    if (!links.is_whole || (depth == kMaxDepth && !links.paths.empty())) out_[index] = kTooMuch;
    if (depth == kMaxDepth) return;
    for (const std::string& path : links.paths) look_in(join_path(top, path), depth + 1);
    if (!links.shared.empty() && index == join_path(directory, "index")) {
      add_gitlinks(directory, join_path(directory, "sharedindex." + links.shared), top, has_sha256,
                   depth);
    }
  }

  // A work tree with a `.git`, whatever that is.
  void look_in(const std::string& top, int depth) {
    const std::string name = join_path(top, ".git");
    const OwnedFd fd = open_file(name, O_RDONLY);
    struct stat info {};
    if (!fd.is_open() || fstat(fd.get(), &info) != 0 || is_stub(name)) return;
    if (S_ISDIR(info.st_mode)) return add_repository(name, top, depth);
    const std::optional<std::string> text = read_text(fd.get(), PATH_MAX + kGitFilePrefix.size());
    out_[name] = mark_of(fd.get(), text);
    if (!text || !text->starts_with(kGitFilePrefix)) return;
    const auto directory = real(below(top, first_line(text->substr(kGitFilePrefix.size()))));
    if (directory) add_repository(*directory, top, depth);
  }

  const std::vector<ViewRoot>& roots_;
  std::map<std::string, OwnedFd> tops_;
  std::set<std::string> seen_;
  std::size_t work_left_ = kMostWork;
  bool leads_on_ = false;  // inclusions deeper than is looked at
  GitUse out_;
};

}  // namespace

bool guards_git(const Policy& policy) {
  const auto& protect = policy.sandbox.filesystem.protect;
  return !policy.sandbox.filesystem.overlay &&
         std::any_of(protect.begin(), protect.end(), [](const Protect& entry) {
           return is_below(join_path("/", entry.path), "/.git");
         });
}

GitUse look_at_git(const std::vector<ViewRoot>& roots) { return Looker(roots).look(); }

std::vector<std::string> git_changes(const GitUse& before, const GitUse& after) {
  std::vector<std::string> out;
  for (const auto& [path, mark] : after) {
    const auto found = before.find(path);
    // What was too much before is not known to be the same.
    const bool is_new = (found == before.end() && mark != kHead) || mark == kTooMuch;
    if (is_new || (found != before.end() && found->second != mark)) out.push_back(path);
  }
  for (const auto& [path, mark] : before) {
    if (mark == kHead && !after.contains(path)) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  if (out.size() <= kMaxGitChanges) return out;
  // githooks(5)
  constexpr std::string_view kHooks =
      " applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit "
      "post-index-change post-merge post-receive post-rewrite post-update pre-applypatch "
      "pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg "
      "proc-receive push-to-checkout reference-transaction sendemail-validate update "
      "config config.worktree commondir .git ";
  std::stable_partition(out.begin(), out.end(), [&](const std::string& path) {
    return kHooks.find(" " + path.substr(path.rfind('/') + 1) + " ") != kHooks.npos;
  });
  std::string others(parent_of(out[kMaxGitChanges - 1]));
  for (std::size_t i = kMaxGitChanges; i < out.size(); ++i) {
    while (!is_below(out[i], others)) others = parent_of(others);
  }
  out.resize(kMaxGitChanges - 1);
  if (std::find(out.begin(), out.end(), others) == out.end()) out.push_back(others);
  return out;
}

}  // namespace sbx
