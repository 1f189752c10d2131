// SPDX-License-Identifier: Apache-2.0
// Walks from command names to every file that must exist for them to run, as the kernel (symlinks,
// #! lines, PT_INTERP) and glibc's loader (ld.so(8)) would. Opens and reads files; runs nothing.
#include "host/closure.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/elf.h"

namespace sbx {
namespace {

constexpr int kMaxLinks = 40;       // as the kernel's own bound
constexpr int kMaxScriptDepth = 5;  // as the kernel's BINPRM bound
constexpr std::size_t kMaxFiles = 20'000;
constexpr std::size_t kMaxCache = std::size_t{16} << 20;

// Programs that need more than they load at start. `{prefix}` is the directory above the program's
// bin/, `{name}` its real file name; one component may be a pattern of fnmatch(3).
struct Companion {
  std::string_view program;  // the real file name, or its beginning where `is_prefix`
  bool is_prefix;
  bool load_libraries;  // the tree holds ELF files that load libraries of their own
  std::array<const char*, 6> trees;
};
constexpr Companion kCompanions[] = {
    // The standard library and its extension modules; Debian's packages.
    {"python3", true, true, {"{prefix}/lib/{name}", "{prefix}/lib/python3"}},
    // perl-base alone is enough for many scripts, the others for the standard modules.
    {"perl",
     false,
     true,
     {"{prefix}/share/perl", "{prefix}/share/perl5", "{prefix}/lib/*/perl-base",
      "{prefix}/lib/*/perl", "{prefix}/lib/*/perl5", "{prefix}/lib*/perl5"}},
    // Subcommands and remote helpers are programs of their own; templates for `git init`.
    {"git",
     false,
     true,
     {"{prefix}/lib/git-core", "{prefix}/libexec/git-core", "{prefix}/share/git-core",
      "/etc/ssl/certs", "{prefix}/share/ca-certificates"}},
    {"curl", false, false, {"/etc/ssl/certs", "{prefix}/share/ca-certificates"}},
    {"wget", false, false, {"/etc/ssl/certs", "{prefix}/share/ca-certificates"}},
    // TZ=Europe/Zurich date.
    {"date", false, false, {"{prefix}/share/zoneinfo"}},
    // Character sets other than the built-in UTF-8, UTF-16 and ASCII.
    {"iconv", false, true, {"{prefix}/lib/*/gconv", "{prefix}/lib64/gconv"}},
    {"gawk", false, true, {"{prefix}/share/awk", "{prefix}/lib/*/gawk", "{prefix}/lib64/gawk"}},
    {"file", false, false, {"{prefix}/lib/file", "{prefix}/share/misc"}},
    // Debian keeps parts of Node's own library there.
    {"node", false, false, {"{prefix}/share/nodejs"}},
};

// What glibc opens by itself: libgcc_s at thread cancellation; before 2.34, the name services of
// nsswitch.conf that need no daemon.
constexpr std::array<std::string_view, 3> kOpenedLater = {"libgcc_s.so.1", "libnss_files.so.2",
                                                          "libnss_dns.so.2"};
// C.UTF-8 is not built into every glibc.
constexpr std::array<const char*, 2> kLocaleTrees = {"/usr/lib/locale/C.utf8",
                                                     "/usr/lib/locale/C.UTF-8"};

// The first look that failed. Only what is not there, may not be looked at, or is of no use to
// anybody is left out: a command that is missing for want of memory would be another one further
// down PATH.
class Failure {
 public:
  void note(const char* call, std::string_view path, int error) {
    static constexpr std::array kMissing = {ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, ENXIO};
    const bool is_missing = std::find(kMissing.begin(), kMissing.end(), error) != kMissing.end();
    if (is_missing || !status_.ok()) return;
    const std::string where(path);
    status_ = call_failed(ErrorCode::kPathRefused, std::string(call) + "(" + where + ")", where,
                          "whether a program needs it is not known: run again", error);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

struct RealPath {
  std::string path;  // no symlinks in it
  mode_t mode = 0;
};

// Resolves paths as the kernel would and notes every symlink on the way. Each path is looked at
// once.
class Resolver {
 public:
  Resolver(std::map<std::string, std::string>& symlinks, Failure& failure)
      : symlinks_(symlinks), failure_(failure) {}

  // nullptr: does not exist, cannot be looked at, or too many links.
  const RealPath* resolve(std::string_view path) { return resolve(path, 0); }

 private:
  const RealPath* resolve(std::string_view path, int links) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    if (path == "/") return &root_;
    if (path.empty() || path.front() != '/' || path.size() > 4096) return nullptr;
    if (depth_ >= kMaxDepth) return nullptr;
    const auto known = known_.find(std::string(path));
    if (known != known_.end()) return known->second ? &*known->second : nullptr;
    ++depth_;
    std::optional<RealPath> found = look_up(path, links);
    --depth_;
    auto& place = known_[std::string(path)];
    place = std::move(found);
    return place ? &*place : nullptr;
  }

  std::optional<RealPath> look_up(std::string_view path, int links) {
    const RealPath* parent = resolve(parent_of(path), links);
    if (parent == nullptr || !S_ISDIR(parent->mode)) return std::nullopt;
    const std::string_view name = name_part(path);
    if (name == ".") return *parent;
    if (name == "..") return RealPath{std::string(parent_of(parent->path)), S_IFDIR};
    RealPath real{join_path(parent->path, name), 0};
    struct stat status = {};
    if (::lstat(real.path.c_str(), &status) != 0) {
      failure_.note("lstat", real.path, errno);
      return std::nullopt;
    }
    real.mode = status.st_mode;
    if (!S_ISLNK(status.st_mode)) return real;
    const std::string text = read_link(real.path);
    if (links >= kMaxLinks || text.empty()) return std::nullopt;
    const RealPath* end =
        resolve(text.front() == '/' ? text : join_path(parent->path, text), links + 1);
    if (end == nullptr) return std::nullopt;
    symlinks_[real.path] = text;
    return *end;
  }

  // Empty where the target cannot be read or is too long.
  std::string read_link(const std::string& path) {
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    if (size < 0) failure_.note("readlink", path, errno);
    const bool whole = size > 0 && size < static_cast<ssize_t>(target.size());
    target.resize(whole ? static_cast<std::size_t>(size) : 0);
    return target;
  }

  // Components and links still to be resolved, each a few hundred bytes of stack.
  static constexpr int kMaxDepth = 1024;
  int depth_ = 0;
  std::map<std::string, std::string>& symlinks_;
  Failure& failure_;
  std::unordered_map<std::string, std::optional<RealPath>> known_;  // its nodes do not move
  RealPath root_ = {"/", S_IFDIR};
};

// /etc/ld.so.cache by soname; a name may have several files (glibc-hwcaps), of which the loader
// picks one at run time: all are wanted.
class LdCache {
 public:
  explicit LdCache(Failure& failure) : failure_(failure) {}

  const std::vector<const LdCacheEntry*>* find(std::string_view soname) {
    if (!loaded_) load();
    const auto at = by_name_.find(soname);
    return at == by_name_.end() ? nullptr : &at->second;
  }

 private:
  void load() {
    loaded_ = true;
    static constexpr const char* kPath = "/etc/ld.so.cache";
    const OwnedFd file(::open(kPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open()) failure_.note("open", kPath, errno);
    struct stat status = {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    bytes_.resize(std::min(static_cast<std::size_t>(status.st_size), kMaxCache));
    bytes_.resize(reader_of(file.get())(0, bytes_.data(), bytes_.size()));
    entries_ = read_ld_cache(bytes_);
    by_name_.reserve(entries_.size());
    for (const LdCacheEntry& entry : entries_) by_name_[entry.soname].push_back(&entry);
  }

  Failure& failure_;
  bool loaded_ = false;
  std::string bytes_;
  std::vector<LdCacheEntry> entries_;
  std::unordered_map<std::string_view, std::vector<const LdCacheEntry*>> by_name_;
};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

const char* multiarch_of(std::uint16_t machine) {
  return machine == kElfMachineAarch64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}
const char* platform_of(std::uint16_t machine) {
  return machine == kElfMachineAarch64 ? "aarch64" : "x86_64";
}

// The loader's dynamic string tokens. $LIB differs by distribution: each is tried.
std::vector<std::string> expand_tokens(const std::string& path, std::string_view origin,
                                       std::uint16_t machine) {
  if (path.find('$') == std::string::npos) return {path};
  std::string text = replace_all(path, "${ORIGIN}", origin);
  text = replace_all(text, "$ORIGIN", origin);
  text = replace_all(text, "${PLATFORM}", platform_of(machine));
  text = replace_all(text, "$PLATFORM", platform_of(machine));
  text = replace_all(text, "${LIB}", "$LIB");
  if (text.find("$LIB") == std::string::npos) return {text};
  return {replace_all(text, "$LIB", std::string("lib/") + multiarch_of(machine)),
          replace_all(text, "$LIB", "lib64"), replace_all(text, "$LIB", "lib")};
}

// An object in the order in which the loader would load it; `rpath` holds its own and its loaders'
// DT_RPATH directories, expanded.
struct Loaded {
  const ElfFile* elf;
  std::string origin;
  std::vector<std::string> rpath;
};

class Closure {
 public:
  explicit Closure(const std::string& search_path)
      : resolver_(result_.symlinks, failure_), cache_(failure_) {
    for (const std::string_view directory : split(search_path, ':')) {
      if (directory.starts_with('/')) search_path_.emplace_back(directory);
    }
  }

  void add_command(const std::string& name) {
    if (!add_from_search_path(name, 0)) missing_.insert(name);
  }

  Result<ToolClosure> finish() && {
    SBX_CHECK_OK(failure_.status());
    result_.files.assign(files_.begin(), files_.end());
    result_.directories.assign(directories_.begin(), directories_.end());
    result_.missing.assign(missing_.begin(), missing_.end());
    return std::move(result_);
  }

 private:
  bool add_from_search_path(const std::string& name, int depth) {
    if (name.starts_with('/')) return add_program(name, depth);
    if (name.empty() || name == "." || name == "..") return false;
    return std::any_of(search_path_.begin(), search_path_.end(), [&](const std::string& directory) {
      return add_program(join_path(directory, name), depth);
    });
  }

  // False where there is no such executable file.
  bool add_program(const std::string& path, int depth) {
    const RealPath* real = resolver_.resolve(path);
    if (real == nullptr || !S_ISREG(real->mode) || (real->mode & 0111) == 0) return false;
    if (depth > kMaxScriptDepth || !insert_file(real->path)) return true;
    const OwnedFd file(open_regular(real->path));
    if (!file.is_open()) return true;
    if (const ElfFile* elf = elf_of(real->path, file.get())) {
      add_libraries_of(*elf, real->path);
      add_companions(real->path);
    } else {
      add_script(file.get(), depth);
    }
    return true;
  }

  bool insert_file(const std::string& real) {
    return files_.size() < kMaxFiles && files_.insert(real).second;
  }

  OwnedFd open_regular(const std::string& real) {
    OwnedFd file(::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open()) failure_.note("open", real, errno);
    return file;
  }

  // nullptr: not an ELF file of ours.
  const ElfFile* elf_of(const std::string& real, int fd) {
    const auto known = elves_.find(real);
    if (known != elves_.end()) return known->second.get();
    Result<ElfFile> read = read_elf(reader_of(fd));
    auto& place = elves_[real];
    if (read.ok()) place = std::make_unique<ElfFile>(std::move(read).value());
    return place.get();
  }

  // execve(2): "#!interpreter [optional-arg]", of which the kernel reads 255 bytes.
  void add_script(int fd, int depth) {
    std::array<char, 255> bytes = {};
    const std::size_t size = reader_of(fd)(0, bytes.data(), bytes.size());
    std::string_view line(bytes.data(), size);
    if (!line.starts_with("#!")) return;
    line = line.substr(2, line.find('\n') - 2);
    const std::string spaced = replace_all(std::string(line), "\t", " ");
    std::vector<std::string> words;
    for (const std::string_view word : split(spaced, ' ')) {
      if (!word.empty()) words.emplace_back(word);
    }
    if (words.empty() || !words[0].starts_with('/')) return;
    add_program(words[0], depth + 1);
    if (name_part(words[0]) != "env") return;
    const auto program = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
      return !word.starts_with('-') && word.find('=') == std::string::npos;
    });
    if (program != words.end()) add_from_search_path(*program, depth + 1);
  }

  void add_libraries_of(const ElfFile& elf, const std::string& real) {
    if (elf.interpreter.empty() && elf.needed.empty()) return;
    if (!elf.interpreter.empty()) add_plain_file(elf.interpreter);
    if (!any_dynamic_) add_what_every_dynamic_program_needs(elf.machine);
    std::unordered_set<std::string> seen;
    std::deque<Loaded> queue;
    queue.push_back({&elf, std::string(parent_of(real)), {}});
    for (; !queue.empty() && seen.size() < kMaxFiles; queue.pop_front()) {
      Loaded& object = queue.front();
      extend_rpath(object);
      for (const std::string& name : object.elf->needed) {
        if (seen.insert(name).second) find_library(name, object, queue);
      }
    }
  }

  void add_what_every_dynamic_program_needs(std::uint16_t machine) {
    any_dynamic_ = true;
    add_plain_file("/etc/ld.so.cache");
    for (const char* tree : kLocaleTrees) add_tree(tree, false);
    ElfFile wants;
    wants.machine = machine;
    for (const std::string_view name : kOpenedLater) {
      if (cache_.find(name) != nullptr) wants.needed.emplace_back(name);
    }
    add_libraries_of(wants, "/");
  }

  static void extend_rpath(Loaded& object) {
    if (!object.elf->runpath.empty()) return;
    std::vector<std::string> own;
    for (const std::string& path : object.elf->rpath) {
      for (std::string& one : expand_tokens(path, object.origin, object.elf->machine)) {
        own.push_back(std::move(one));
      }
    }
    object.rpath.insert(object.rpath.begin(), own.begin(), own.end());
  }

  // ld.so(8): DT_RPATH without DT_RUNPATH, DT_RUNPATH, the cache, the default directories.
  void find_library(const std::string& name, const Loaded& object, std::deque<Loaded>& queue) {
    const std::uint16_t machine = object.elf->machine;
    const auto load = [&](const std::string& path) {
      return load_library(path, machine, object.rpath, queue);
    };
    if (name.find('/') != std::string::npos) {
      for (const std::string& path : expand_tokens(name, object.origin, machine)) {
        if (load(path)) return;
      }
      return;
    }
    if (object.elf->runpath.empty()) {
      for (const std::string& directory : object.rpath) {
        if (load(join_path(directory, name))) return;
      }
    }
    for (const std::string& entry : object.elf->runpath) {
      for (const std::string& directory : expand_tokens(entry, object.origin, machine)) {
        if (load(join_path(directory, name))) return;
      }
    }
    bool in_cache = false;
    if (const auto* entries = cache_.find(name)) {
      for (const LdCacheEntry* entry : *entries) {
        if (entry->machine == machine && load(std::string(entry->path))) in_cache = true;
      }
    }
    if (in_cache) return;
    const std::string multiarch = multiarch_of(machine);
    for (const std::string& directory :
         {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib64"),
          std::string("/usr/lib64"), std::string("/lib"), std::string("/usr/lib")}) {
      if (load(join_path(directory, name))) return;
    }
  }

  bool load_library(const std::string& path, std::uint16_t machine,
                    const std::vector<std::string>& rpath, std::deque<Loaded>& queue) {
    const RealPath* real = resolver_.resolve(path);
    if (real == nullptr || !S_ISREG(real->mode)) return false;
    const auto known = elves_.find(real->path);
    const OwnedFd file = known == elves_.end() ? open_regular(real->path) : OwnedFd();
    if (known == elves_.end() && !file.is_open()) return false;
    const ElfFile* elf = elf_of(real->path, file.get());
    // Another machine's library, or none at all: the loader goes on to the next place too.
    if (elf == nullptr || elf->machine != machine) return false;
    insert_file(real->path);
    queue.push_back({elf, std::string(parent_of(path)), rpath});
    return true;
  }

  void add_plain_file(const std::string& path) {
    const RealPath* real = resolver_.resolve(path);
    if (real != nullptr && S_ISREG(real->mode)) insert_file(real->path);
  }

  void add_companions(const std::string& real) {
    const std::string name(name_part(real));
    const std::string prefix(parent_of(parent_of(real)));
    for (const Companion& companion : kCompanions) {
      const bool fits =
          companion.is_prefix ? name.starts_with(companion.program) : name == companion.program;
      if (!fits) continue;
      for (const char* pattern : companion.trees) {
        if (pattern == nullptr) break;
        const std::string with_prefix =
            replace_all(pattern, "{prefix}", prefix == "/" ? "" : prefix);
        add_matching_trees(replace_all(with_prefix, "{name}", name), companion.load_libraries);
      }
    }
  }

  void add_matching_trees(const std::string& pattern, bool load_libraries) {
    if (pattern.find('*') == std::string::npos) {
      add_tree(pattern, load_libraries);
      return;
    }
    const std::size_t star = pattern.find('*');
    const std::size_t begin = pattern.rfind('/', star);
    const std::size_t end = std::min(pattern.find('/', star), pattern.size());
    const std::string directory = pattern.substr(0, begin);
    const std::string part = pattern.substr(begin + 1, end - begin - 1);
    Listing listing(directory);
    if (!listing.is_open()) failure_.note("open", directory, errno);
    while (const dirent* const entry = listing.next()) {
      if (fnmatch(part.c_str(), entry->d_name, FNM_PERIOD) != 0) continue;
      add_tree(join_path(directory, entry->d_name) + pattern.substr(end), load_libraries);
    }
    if (listing.is_open() && errno != 0) failure_.note("readdir", directory, errno);
  }

  void add_tree(const std::string& path, bool load_libraries) {
    const RealPath* real = resolver_.resolve(path);
    if (real == nullptr || !S_ISDIR(real->mode)) return;
    if (!directories_.insert(real->path).second || !load_libraries) return;
    std::size_t budget = kMaxFiles;
    scan_for_libraries(real->path, 0, budget);
  }

  // The files are shown with their directory; only what they load is added.
  void scan_for_libraries(const std::string& directory, int depth, std::size_t& budget) {
    constexpr int kMaxDepth = 12;
    Listing listing(directory);
    if (!listing.is_open()) failure_.note("opendir", directory, errno);
    if (!listing.is_open() || depth > kMaxDepth) return;
    for (;;) {
      const struct dirent* const entry = listing.next();
      if (entry == nullptr && errno != 0) failure_.note("readdir", directory, errno);
      if (entry == nullptr || budget == 0) return;
      --budget;
      const std::string_view name(entry->d_name);
      if (entry->d_type == DT_DIR && name != "__pycache__") {
        scan_for_libraries(join_path(directory, name), depth + 1, budget);
      } else if (entry->d_type == DT_REG && may_be_elf(name)) {
        scan_file(join_path(directory, name));
      }
    }
  }

  // Shared objects, and programs such as git's helpers, which have no suffix.
  static bool may_be_elf(std::string_view name) {
    return name.ends_with(".so") || name.find(".so.") != std::string_view::npos ||
           name.find('.') == std::string_view::npos;
  }

  void scan_file(const std::string& path) {
    const OwnedFd file(open_regular(path));
    if (!file.is_open()) return;
    if (const ElfFile* elf = elf_of(path, file.get())) add_libraries_of(*elf, path);
  }

  ToolClosure result_;
  Failure failure_;
  Resolver resolver_;
  LdCache cache_;
  std::vector<std::string> search_path_;
  std::set<std::string> files_;
  std::set<std::string> directories_;
  std::set<std::string> missing_;
  std::unordered_map<std::string, std::unique_ptr<ElfFile>> elves_;  // by real path
  bool any_dynamic_ = false;
};

}  // namespace

Result<ToolClosure> close_over_tools(const std::vector<std::string>& names,
                                     const std::string& search_path) {
  for (const std::string& name : names) {
    if (!name.starts_with('/') && name.find('/') != std::string::npos) {
      return Error{ErrorCode::kPathRefused, "a command is a bare name or an absolute path: " + name,
                   "/commands/allow", "name the program alone, or its absolute path", 0};
    }
  }
  Closure closure(search_path);
  for (const std::string& name : names) closure.add_command(name);
  return std::move(closure).finish();
}

}  // namespace sbx
