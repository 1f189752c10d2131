// SPDX-License-Identifier: Apache-2.0
// One thread walks and makes directories, symlinks and further names of files; files are copied by
// the others, and by the walker while it has to wait. A directory gets its mode and times by
// whoever makes the last of what is in it.
#include "kept/copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "base/by_number.h"
#include "base/files.h"
#include "base/text.h"
#include "host_files/user_attributes.h"
#include "kept/merged.h"
#include "kept/store.h"

namespace sbx {
namespace {

constexpr int kMaxDepth = 1000;  // two descriptors each
constexpr int kMostThreads = 4;
constexpr std::size_t kMostWaiting = 64;  // files, each with the directories that it is in
constexpr std::size_t kStackBytes = std::size_t{512} << 10;
constexpr off_t kMostAtOnce = off_t{64} << 20;  // in bytes, before it is heard what ends a copy

int threads_by_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, kMostThreads);
}

// Never of what a symlink leads to.
bool set_mode(int dirfd, const std::string& name, mode_t mode) {
  const OwnedFd handle(openat(dirfd, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!handle.is_open() || fstat(handle.get(), &info) != 0 || S_ISLNK(info.st_mode)) return false;
  return chmod(by_number(handle.get()).c_str(), mode) == 0;
}

struct Directory {
  std::shared_ptr<Directory> parent;  // null: the top
  std::string path;                   // below the root
  std::string name;
  struct stat info {};
  Listing from;
  OwnedFd to;
  bool is_opened = false;  // its owner may not enter it
  int unfinished = 1;      // the walk over it, and what is in it
};
using DirectoryPtr = std::shared_ptr<Directory>;

struct File {
  DirectoryPtr in;
  std::string name;
  struct stat info {};
};

// A file of several names.
struct Linked {
  std::string path;  // of its first one
  enum { kWaiting, kMade, kLeftOut } state = kWaiting;
};
using Identity = std::pair<dev_t, ino_t>;

class Copier {
 public:
  Copier(TreeCopy& copy, BaseRecords& records, int real, int to)
      : copy_(copy), records_(records), real_(real), to_(to) {}

  Status run(Listing from, OwnedFd to) {
    start_threads();
    const auto top = std::make_shared<Directory>();
    top->from = std::move(from);
    top->to = std::move(to);
    walk(top, 0);
    leave(top.get());
    wait_for_all();
    end_threads();
    if (first_error_) return *first_error_;
    stamp_again();
    return {};
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // --- threads ---

  void start_threads() {
    const int wanted = copy_.threads > 0 ? copy_.threads : threads_by_processors();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    const auto work = [](void* self) -> void* {
      static_cast<Copier*>(self)->work();
      return nullptr;
    };
    for (int i = 1; i < wanted; ++i) {
      pthread_t thread{};
      if (pthread_create(&thread, &attributes, work, this) != 0) break;  // fewer will do
      threads_.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }

  void end_threads() {
    {
      const Lock lock(mutex_);
      has_ended_ = true;
    }
    changed_.notify_all();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }

  void work() {
    Lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return has_ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      take(lock);
    }
  }

  // The first one that waits.
  void take(Lock& lock) {
    File file = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    const bool goes_on = !first_error_;
    lock.unlock();
    if (goes_on) copy_one(file);
    leave(file.in.get());
    file.in.reset();
    lock.lock();
    --busy_;
    changed_.notify_all();
  }

  // The walker helps meanwhile.
  template <typename Done>
  void wait_until(Done done) {
    Lock lock(mutex_);
    while (!done()) {
      if (!waiting_.empty()) {
        take(lock);
      } else {
        changed_.wait(lock);
      }
    }
  }
  void wait_for_all() {
    wait_until([this] { return waiting_.empty() && busy_ == 0; });
  }

  void add(File file) {
    wait_until([this] { return waiting_.size() < kMostWaiting || first_error_; });
    {
      const Lock lock(mutex_);
      ++file.in->unfinished;
      waiting_.push_back(std::move(file));
    }
    changed_.notify_all();
  }

  void fail(Error error) {
    const Lock lock(mutex_);
    if (!first_error_) first_error_ = std::move(error);
  }
  void fail(const char* call, const std::string& path, int error) {
    if (error == EINTR) return fail(told_to_end());
    fail(layer_failure(
        std::string(call) + "(" + escape_control_bytes(path) + ") into the layer's copy", error));
  }

  bool has_failed() {
    const Lock lock(mutex_);
    return first_error_.has_value();
  }

  // --- the walk ---

  void walk(const DirectoryPtr& directory, int depth) {
    while (const dirent* entry = directory->from.next()) {
      if (is_told_to_end(copy_.owner_pidfd)) fail(told_to_end());
      if (has_failed()) return;
      struct stat info {};
      if (fstatat(directory->from.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      visit(directory, entry->d_name, info, depth);
    }
  }

  void visit(const DirectoryPtr& in, const std::string& name, const struct stat& info, int depth) {
    const bool is_hidden = !copy_.hidden.empty() && copy_.hidden.contains(path_of(*in, name));
    if (S_ISDIR(info.st_mode)) return visit_directory(in, name, info, depth, is_hidden);
    if (S_ISREG(info.st_mode)) {
      if (is_hidden) return stand_in(*in, name, info);
      if (info.st_nlink < 2 || !is_linked(*in, name, info)) add({in, name, info});
      return;
    }
    if (S_ISSOCK(info.st_mode) && is_hidden) return stand_in(*in, name, info);
    const std::string path = path_of(*in, name);
    if (S_ISLNK(info.st_mode)) {
      const ssize_t size =
          readlinkat(in->from.fd(), name.c_str(), target_.data(), target_.size() - 1);
      if (size < 0) return leave_out(path);
      target_[static_cast<std::size_t>(size)] = '\0';
      if (symlinkat(target_.data(), in->to.get(), name.c_str()) != 0) {
        return fail("symlink", path, errno);
      }
    } else if (S_ISFIFO(info.st_mode)) {
      if (mkfifoat(in->to.get(), name.c_str(), info.st_mode & 0777) != 0) {
        return fail("mkfifo", path, errno);
      }
    } else {
      return leave_out(path);
    }
    finish_entry(*in, name, info);
  }

  void visit_directory(const DirectoryPtr& in, const std::string& name, const struct stat& info,
                       int depth, bool is_hidden) {
    const std::string path = path_of(*in, name);
    if (depth == kMaxDepth) return fail("open", path, ENAMETOOLONG);
    // Those that are not above this one wait for their files.
    wait_until([&] { return open_ <= depth + static_cast<int>(kMostWaiting); });
    const auto directory = std::make_shared<Directory>();
    directory->parent = in;
    directory->path = path;
    directory->name = name;
    directory->info = info;
    directory->from = Listing(in->from.fd(), name.c_str(), O_NOFOLLOW);
    if (!directory->from.is_open() && errno == EACCES && copy_.is_own) {
      directory->is_opened = set_mode(in->from.fd(), name, (info.st_mode & 07777) | 0500);
      directory->from = Listing(in->from.fd(), name.c_str(), O_NOFOLLOW);
    }
    const int error = errno;
    if (!directory->from.is_open()) {
      if (error != EACCES && error != EPERM && error != ENOENT) return fail("open", path, error);
      if (error != ENOENT) leave_out(path);
    }
    if (mkdirat(in->to.get(), name.c_str(), 0700) != 0) return fail("mkdir", path, errno);
    directory->to.reset(
        openat(in->to.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory->to.is_open()) return fail("open", path, errno);
    {
      const Lock lock(mutex_);
      ++in->unfinished;
      ++open_;
    }
    count(directory->to.get());
    if (directory->from.is_open() && !is_hidden) walk(directory, depth + 1);
    leave(directory.get());
  }

  // What a mount covers, and nothing shows once the host has removed the real file.
  void stand_in(const Directory& in, const std::string& name, const struct stat& info) {
    const OwnedFd target(openat(in.to.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                info.st_mode & 0777));
    if (!target.is_open() || fchmod(target.get(), info.st_mode & 0777) != 0) {
      return fail("open", path_of(in, name), errno);
    }
    finish_entry(in, name, info);
  }

  // Where the first name of the file was made; nothing: this is the first one.
  std::optional<std::string> first_name(const Directory& in, const std::string& name,
                                        const struct stat& info) {
    const Identity identity{info.st_dev, info.st_ino};
    wait_until([&] {
      const auto known = linked_.find(identity);
      return known == linked_.end() || known->second.state != Linked::kWaiting || first_error_;
    });
    const Lock lock(mutex_);
    Linked& first = linked_[identity];
    if (first.state == Linked::kMade) return first.path;
    first = {path_of(in, name), Linked::kWaiting};
    return std::nullopt;
  }

  // A further name of a file that is there already.
  bool is_linked(const Directory& in, const std::string& name, const struct stat& info) {
    const std::optional<std::string> first = first_name(in, name, info);
    if (!first) return false;
    if (linkat(to_, first->c_str(), in.to.get(), name.c_str(), 0) != 0) {
      fail("link", path_of(in, name), errno);
    } else {
      relinked_.insert({*first, path_of(in, name)});
      finish_entry(in, name, info);
    }
    return true;
  }

  // Another name changes the time of those before it.
  void stamp_again() {
    for (const std::string& path : relinked_) {
      struct stat info {};
      if (stat_beneath(to_, path, info))
        records_.stamp(copy_.root, path, nanoseconds(info.st_ctim));
    }
  }

  // --- any thread ---

  void copy_one(const File& file) {
    const std::string path = path_of(*file.in, file.name);
    const bool is_made = copy_file(file, path);
    if (is_made) finish_entry(*file.in, file.name, file.info);
    if (file.info.st_nlink < 2) return;
    const Lock lock(mutex_);
    linked_.at({file.info.st_dev, file.info.st_ino}).state =
        is_made ? Linked::kMade : Linked::kLeftOut;
  }

  bool copy_file(const File& file, const std::string& path) {
    const char* const name = file.name.c_str();
    const OwnedFd source = open_source(file);
    if (!source.is_open()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        fail("open", path, errno);
      } else if (errno != ENOENT) {
        leave_out(path);
      }
      return false;
    }
    const OwnedFd target(
        openat(file.in->to.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!target.is_open() || !copy_bytes(source.get(), target.get(), &copy_.owner_pidfd)) {
      fail("copy", path, errno);
      return false;
    }
    copy_user_attributes(source.get(), target.get());
    if (fchmod(target.get(), file.info.st_mode & 0777) != 0) {
      fail("chmod", path, errno);
      return false;
    }
    count(target.get());
    return true;
  }

  OwnedFd open_source(const File& file) const {
    const int dirfd = file.in->from.fd();
    if (copy_.is_own) return open_own(dirfd, file.name);
    return OwnedFd(openat(dirfd, file.name.c_str(),
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }

  void leave_out(const std::string& path) {
    const Lock lock(mutex_);
    if (copy_.left_out++ == 0) copy_.first_left_out = path;
  }

  void count(int fd) {
    struct stat info {};
    if (fstat(fd, &info) != 0) return;
    {
      const Lock lock(mutex_);
      copy_.bytes += std::int64_t{info.st_blocks} * 512;
      if (!copy_.most_bytes || copy_.bytes <= *copy_.most_bytes) return;
    }
    fail({ErrorCode::kSetupFailed, "a copy of the tree takes more than limits.layer_mb allows",
          "layer", "raise limits.layer_mb, or work in a narrower directory", EDQUOT});
  }

  // The last one out gives directories what only then stays.
  void leave(Directory* directory) {
    for (; directory != nullptr && is_last(*directory); directory = directory->parent.get()) {
      if (directory->parent != nullptr) finish(*directory);
      directory->from = Listing();
      directory->to.reset();
      const Lock lock(mutex_);
      --open_;
    }
  }

  bool is_last(Directory& directory) {
    const Lock lock(mutex_);
    return --directory.unfinished == 0;
  }

  void finish(const Directory& directory) {
    if (directory.from.is_open()) {
      copy_user_attributes(directory.from.fd(), directory.to.get());
    }
    if (directory.is_opened) (void)!fchmod(directory.from.fd(), directory.info.st_mode & 07777);
    // What is made in it has its group, or is its maker's alone to remove.
    constexpr mode_t kKept = 0777 | S_ISGID | S_ISVTX;
    if (fchmod(directory.to.get(), directory.info.st_mode & kKept) != 0) {
      return fail("chmod", directory.path, errno);
    }
    finish_entry(*directory.parent, directory.name, directory.info);
  }

  // Its times, and what it was made of.
  void finish_entry(const Directory& in, const std::string& name, const struct stat& info) {
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    utimensat(in.to.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
    const std::string path = path_of(in, name);
    BaseRecord known = copy_.is_own ? BaseRecord() : look_at_real(real_, path);
    struct stat made {};
    if (fstatat(in.to.get(), name.c_str(), &made, AT_SYMLINK_NOFOLLOW) == 0) {
      known.stamp = nanoseconds(made.st_ctim);
    }
    const Lock lock(mutex_);
    records_.add(copy_.root, path, known);
  }

  static std::string path_of(const Directory& in, const std::string& name) {
    return in.path.empty() ? name : in.path + "/" + name;
  }

  TreeCopy& copy_;
  BaseRecords& records_;
  int real_;
  int to_;
  std::vector<pthread_t> threads_;
  std::set<std::string> relinked_;
  std::array<char, 4097> target_{};  // of a symlink; the walker's

  std::mutex mutex_;  // over all that follows, Directory::unfinished, copy_ and records_
  std::condition_variable changed_;
  std::map<Identity, Linked> linked_;
  std::deque<File> waiting_;
  std::optional<Error> first_error_;
  int busy_ = 0;
  int open_ = 1;  // directories
  bool has_ended_ = false;
};

}  // namespace

OwnedFd open_own(int dirfd, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  OwnedFd file(openat(dirfd, path.c_str(), kFlags));
  struct stat info {};
  if (file.is_open() || errno != EACCES ||
      fstatat(dirfd, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) {
    return file;
  }
  const mode_t mode = info.st_mode & 07777;
  if (!set_mode(dirfd, path, mode | 0400)) return file;
  file.reset(openat(dirfd, path.c_str(), kFlags));
  set_mode(dirfd, path, mode);
  return file;
}

Status copy_tree(const std::string& from, const std::string& to, TreeCopy& copy,
                 BaseRecords& records) {
  Listing source(from);
  OwnedFd target(open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!source.is_open()) return layer_failure("open(" + from + ")", errno);
  // Until everything is in it, its own mode may not let anything be made there.
  if (!target.is_open() || fstat(target.get(), &info) != 0 || fchmod(target.get(), 0700) != 0) {
    return layer_failure("open(" + to + ")", errno);
  }
  const OwnedFd real(fcntl(source.fd(), F_DUPFD_CLOEXEC, 0));
  const OwnedFd made(fcntl(target.get(), F_DUPFD_CLOEXEC, 0));
  if (!real.is_open() || !made.is_open()) return layer_failure("fcntl", errno);
  SBX_CHECK_OK(
      Copier(copy, records, real.get(), made.get()).run(std::move(source), std::move(target)));
  if (fchmod(made.get(), info.st_mode & 07777) != 0)
    return layer_failure("fchmod(" + to + ")", errno);
  return {};
}

bool copy_bytes(int from, int to, const int* owner_pidfd) {
  if (ioctl(to, FICLONE, from) == 0) return true;
  struct stat info {};
  if (fstat(from, &info) != 0) return false;
  off_t at = 0;
  off_t end = 0;  // of the data that is copied: a range with a hole in it would fill the hole
  std::string buffer;
  for (;;) {
    if (owner_pidfd != nullptr && is_told_to_end(*owner_pidfd)) {
      errno = EINTR;
      return false;
    }
    if (at >= end) {
      const off_t data = lseek(from, at, SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;  // a hole to the end
      if (data >= 0) at = data;
      end = lseek(from, at, SEEK_HOLE);
      if (data < 0 || end <= at) end = std::numeric_limits<off_t>::max();  // it knows no holes
    }
    off_t in = at;
    off_t out = at;
    std::size_t rest = static_cast<std::size_t>(std::min<off_t>(end - at, kMostAtOnce));
    ssize_t size = copy_file_range(from, &in, to, &out, rest, 0);
    if (size < 0 && errno != ENOSPC && errno != EDQUOT) {
      buffer.resize(std::size_t{1} << 16);
      rest = std::min(rest, buffer.size());
      size = pread(from, buffer.data(), rest, at);
      if (size > 0) size = pwrite(to, buffer.data(), static_cast<std::size_t>(size), at);
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    if (size == 0) break;
    at += size;
  }
  return ftruncate(to, std::max<off_t>(info.st_size, at)) == 0;
}

}  // namespace sbx
