// SPDX-License-Identifier: Apache-2.0
// Walks a protected path one component at a time. Nothing that stands in a rw root is trusted: what
// a symlink or a `.git` file names is only ever used to add protection, never to show a path.
#include "host/protect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/globs.h"
#include "host/looks.h"

namespace sbx {
namespace {

using Parts = std::span<const std::string>;

constexpr int kMaxLinks = 16;  // symlinks and `.git` files followed for one protected path
constexpr std::size_t kMaxModules = 256;  // repositories below one `.git/modules`
constexpr int kMaxModuleDepth = 8;        // their names may hold slashes, and they may hold modules

// What cannot be looked at must not pass for missing: it would not be protected.
void note_failure(const char* call, const std::string& path, int error, Status& failure) {
  if (is_missing(error) || !failure.ok()) return;
  failure = call_failed(ErrorCode::kPathRefused, std::string(call) + "(" + path + ")", path,
                        "whether a protected path is there is not known", error);
}

Node look(const std::string& path, Status& failure) {
  struct stat info {};
  Node node{path, NodeKind::kMissing, 0, 0};
  if (lstat(path.c_str(), &info) != 0) {
    note_failure("lstat", path, errno, failure);
    return node;
  }
  if (is_stub(path, info)) return node;
  node.dev = info.st_dev;
  node.ino = info.st_ino;
  node.kind = node_kind(info.st_mode);
  return node;
}

// The first line of git's own small files; nullopt when it is none. Never blocks on a FIFO.
std::optional<std::string> read_line(const std::string& path, Status& failure) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat info {};
  if (!fd.is_open() || fstat(fd.get(), &info) != 0) {
    // A symlink, a socket or a device without a driver: none of git's own files.
    if (errno != ELOOP && errno != ENXIO) note_failure("open", path, errno, failure);
    return std::nullopt;
  }
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  Result<std::string> found = read_up_to(fd.get(), 4096);
  if (!found.ok()) note_failure("read", path, found.error().sys_errno, failure);
  if (!found.ok() || found.value().empty()) return std::nullopt;
  std::string text = std::move(found).value();
  text.resize(std::min(text.size(), text.find_first_of(std::string_view("\n\r\0", 3))));
  return text;
}

class Resolver {
 public:
  Resolver(const std::vector<ViewRoot>& roots, std::vector<ViewProtect>& out)
      : roots_(roots), out_(out) {}

  // Protects `parts` below the directory `root`, a rw root.
  void walk(const std::string& root, Parts parts, bool report_missing) {
    std::vector<Node> parents;
    std::string at = root;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Parts rest = parts.subspan(i + 1);
      at = join_path(at, parts[i]);
      Node node = look(at, failure_);
      if (!failure_.ok()) return;
      if (node.kind == NodeKind::kMissing) {
        // What is reported is the path itself; what must be held is the first part missing.
        if (report_missing) {
          for (const std::string& part : rest) node.path = join_path(node.path, part);
        }
        add(std::move(node), root, parents, report_missing);
        return;
      }
      if (node.kind == NodeKind::kLink) {
        follow_link(node, root, parents, rest, report_missing);
        return;
      }
      if (node.kind != NodeKind::kDirectory || rest.empty()) {
        add(node, root, parents, report_missing);
        if (!rest.empty() && parts[i] == ".git") follow_git_file(at, rest, report_missing);
        return;
      }
      parents.push_back(node);
      if (parts[i] == ".git") {
        protect_redirects(at);
        if (!rest.empty() && rest[0] != "modules") protect_modules(at, rest, report_missing);
      }
    }
  }

  Status failure() const { return failure_; }

  // Where an absolute path leads; empty for nowhere. What the caller may not search is nowhere for
  // a command of its own as well, but below a writable root, where one could open it.
  std::string lead(const std::string& path) {
    Result<std::string> real = real_path(path);
    if (real.ok()) return std::move(real).value();
    const int error = real.error().sys_errno;
    std::string above = path;
    while (!real.ok() && real.error().sys_errno == EACCES && above.size() > 1) {
      above.resize(std::max<std::size_t>(above.rfind('/'), 1));
      real = real_path(above);
    }
    const bool is_closed = error == EACCES && real.ok() && writable_root(real.value()) == nullptr;
    if (error != ELOOP && !is_closed) note_failure("realpath", path, error, failure_);
    return "";
  }

  // Protects what lies at `path`, which may go through symlinks of a rw root, and `rest` below.
  void protect_at(const std::string& path, Parts rest, bool report_missing) {
    const ViewRoot* root = writable_root(path);
    if (root == nullptr || ++links_ > kMaxLinks) return;
    protect_below(*root, path, rest, report_missing);
  }

  // Protects `rest` in a directory of git's and in those of its submodules.
  void hold_in(const std::string& directory, Parts rest, bool report_missing) {
    protect_git_directory(directory, rest, report_missing);
    protect_modules(directory, rest, report_missing);
  }

 private:
  // The rw root that decides over `path`; nullptr where it cannot be written.
  const ViewRoot* writable_root(std::string_view path) const {
    const ViewRoot* deepest = nullptr;
    for (const ViewRoot& root : roots_) {
      const bool deeper = deepest == nullptr || root.node.path.size() > deepest->node.path.size();
      if (is_below(path, root.node.path) && deeper) deepest = &root;
    }
    const bool writable = deepest != nullptr && deepest->access == Access::kReadWrite &&
                          deepest->node.kind == NodeKind::kDirectory;
    return writable ? deepest : nullptr;
  }

  void add(Node node, const std::string& root, const std::vector<Node>& parents,
           bool report_missing, bool mask = false) {
    const bool leads_git = leads_git_ && node.kind == NodeKind::kMissing && report_missing;
    if (writable_root(node.path) == nullptr) return;
    const auto same = [&](const ViewProtect& other) {
      return other.node.path == node.path && other.report_missing == report_missing;
    };
    if (std::any_of(out_.begin(), out_.end(), same)) return;
    out_.push_back({.root = root,
                    .node = std::move(node),
                    .parents = parents,
                    .report_missing = report_missing,
                    .mask = mask,
                    .leads_git = leads_git});
  }

  void protect_below(const ViewRoot& root, const std::string& path, Parts rest,
                     bool report_missing) {
    std::vector<std::string> parts;
    const std::string_view below = std::string_view(path).substr(root.node.path.size());
    for (const std::string_view part : split(below, '/')) {
      if (!part.empty()) parts.emplace_back(part);
    }
    parts.insert(parts.end(), rest.begin(), rest.end());
    walk(root.node.path, parts, report_missing);
  }

  // The repositories of submodules, whose configuration and hooks git runs as well. Where there are
  // too many for one look, none of them can be written.
  void protect_modules(const std::string& git_directory, Parts rest, bool report_missing) {
    const std::string top = join_path(git_directory, "modules");
    const ViewRoot* root = writable_root(top);
    if (root == nullptr) return;
    std::vector<std::string> found;
    if (!find_modules(top, 0, found)) return protect_below(*root, top, {}, report_missing);
    for (const std::string& module : found) {
      protect_below(*root, module, rest, report_missing);
      if (!redirects_.insert(module).second) continue;
      hold_redirects(module,
                     [&](const std::string& path) { protect_below(*root, path, {}, true); });
    }
  }

  // False: there is more than is looked at.
  bool find_modules(const std::string& path, int depth, std::vector<std::string>& found) {
    if (look(path, failure_).kind != NodeKind::kDirectory) return true;
    if (depth > kMaxModuleDepth || found.size() >= kMaxModules) return false;
    const bool is_module = look(join_path(path, "HEAD"), failure_).kind != NodeKind::kMissing ||
                           look(join_path(path, "config"), failure_).kind != NodeKind::kMissing;
    if (is_module) {
      found.push_back(path);
      return find_modules(join_path(path, "modules"), depth + 1, found);
    }
    Listing listing(path);
    std::size_t count = 0;
    while (const dirent* const entry = listing.next()) {
      if (++count > kMaxModules ||
          !find_modules(join_path(path, entry->d_name), depth + 1, found)) {
        return false;
      }
    }
    return listing.is_open() && errno == 0;
  }

  void follow_link(const Node& link, const std::string& root, const std::vector<Node>& parents,
                   Parts rest, bool report_missing) {
    std::string text(PATH_MAX, '\0');
    const ssize_t size = readlink(link.path.c_str(), text.data(), text.size());
    if (size < 0) return note_failure("readlink", link.path, errno, failure_);
    text.resize(static_cast<std::size_t>(size));
    std::string target = resolve(text, parent_of(link.path));
    add(link, root, parents, report_missing, target.empty());
    // What is made there by its own name would be found by this one.
    if (target.empty()) target = real_destination(link.path);
    if (!target.empty()) protect_at(target, rest, report_missing);
  }

  // gitrepository-layout(5): a `.git` file holds "gitdir: PATH"; `commondir` in that directory
  // holds the path of the one with the hooks and the configuration.
  void follow_git_file(const std::string& path, Parts rest, bool report_missing) {
    const std::optional<std::string> line = read_line(path, failure_);
    if (!line || !line->starts_with(kGitFilePrefix)) return;
    const std::string directory = resolve(line->substr(kGitFilePrefix.size()), parent_of(path));
    protect_git_directory(directory, rest, report_missing);
    const std::optional<std::string> common =
        directory.empty() ? std::nullopt
                          : read_line(join_path(directory, kGitCommonDirectory), failure_);
    if (common) protect_git_directory(resolve(*common, directory), rest, report_missing);
  }

  void protect_git_directory(const std::string& directory, Parts rest, bool report_missing) {
    if (directory.empty()) return;
    protect_at(directory, rest, report_missing);
    protect_redirects(directory);
  }

  // No stubs for these: git on the host would stumble over one.
  void protect_redirects(const std::string& directory) {
    if (!redirects_.insert(directory).second) return;
    hold_redirects(directory, [&](const std::string& path) { protect_at(path, {}, true); });
  }
  template <typename F>
  void hold_redirects(const std::string& directory, F hold) {
    leads_git_ = true;
    hold(join_path(directory, kGitCommonDirectory));
    leads_git_ = false;
    hold(join_path(directory, kGitWorktreeSettings));
  }

  std::string resolve(const std::string& path, std::string_view base) {
    if (path.empty()) return "";
    return lead(path.front() == '/' ? path : join_path(base, path));
  }

  const std::vector<ViewRoot>& roots_;
  std::vector<ViewProtect>& out_;
  bool leads_git_ = false;           // what is added now, where nothing is
  std::set<std::string> redirects_;  // git directories whose redirecting files are done
  int links_ = 0;
  Status failure_;  // the first look that failed
};

}  // namespace

bool may_be_filled(const std::string& directory) {
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return true;
  return errno == EACCES && !is_closed_to_us(directory);
}

bool is_stub(const std::string& path, const struct stat& info) {
  // A directory may hand its S_ISGID and its access list down; older releases let nobody write.
  constexpr unsigned kTelling = S_ISUID | S_ISVTX | S_IRUSR | S_IXUSR | S_IWGRP | S_IWOTH;
  if (!S_ISDIR(info.st_mode) || (info.st_mode & kTelling) != (kStubMode & kTelling)) return false;
  // A directory with something in it is none, whatever its mode: that can be set from inside.
  Listing listing(path);
  if (listing.is_open() && listing.next() != nullptr) return false;
  return errno == ENOENT || (listing.is_open() && errno == 0);  // or its run has just removed it
}

bool is_stub(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && is_stub(path, info);
}

Status resolve_protect(const std::vector<ViewRoot>& roots, const Node& root, const Protect& protect,
                       std::vector<ViewProtect>& out) {
  SBX_TRY(const std::string path, normal_path("/" + protect.path, "/", protect.where));
  std::vector<std::string> parts;
  for (const std::string_view part : split(std::string_view(path).substr(1), '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  Resolver resolver(roots, out);
  resolver.walk(root.path, parts, protect.missing == Missing::kReport);
  return resolver.failure();
}

Status protect_path(const std::vector<ViewRoot>& roots, const std::string& path,
                    std::vector<ViewProtect>& out) {
  // What the name leads to now, and where no ".." stands in it, each symlink on the way.
  Resolver resolver(roots, out);
  const std::string real = resolver.lead(path);
  const Result<std::string> normal = normal_path(path, "/", "");
  if (normal.ok()) resolver.protect_at(normal.value(), {}, true);
  if (!real.empty()) resolver.protect_at(real, {}, true);
  return resolver.failure();
}

Status protect_git_directory(const std::vector<ViewRoot>& roots, const std::string& directory,
                             std::vector<ViewProtect>& out) {
  Resolver resolver(roots, out);
  for (const char* name : {"config", "hooks"}) {
    const std::vector<std::string> rest = {name};
    resolver.hold_in(directory, rest, true);
  }
  return resolver.failure();
}

Status protect_own(const std::vector<ViewRoot>& roots, const std::string& root,
                   std::string_view name, std::vector<ViewProtect>& out) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '/')) parts.emplace_back(part);
  Resolver resolver(roots, out);
  const std::size_t known = out.size();
  resolver.walk(root, parts, parts.size() > 1 || !may_be_filled(root));
  for (std::size_t i = known; i < out.size(); ++i) {
    out[i].is_soft = true;
    if (out[i].is_only_reported()) out[i].parents.clear();
  }
  return resolver.failure();
}

}  // namespace sbx
