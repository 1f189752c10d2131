// SPDX-License-Identifier: Apache-2.0
// Directories, locks and sockets, by descriptor.
#include "rpc/socket_place.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/by_number.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr int kBacklog = 128;

Error failed(const std::string& what, const std::string& where, int error, std::string hint) {
  return Error{ErrorCode::kSessionFailed,
               what + " " + where + (error == 0 ? "" : ": " + errno_text(error)), where,
               std::move(hint), error};
}

// A directory that only we (or root) can change, whoever made its name.
Result<Directory> open_safe(const std::string& path, bool must_be_private) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("cannot make", path, errno, "make it, or name another directory");
  }
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open()) {
    return failed("cannot open", path, errno, "it must be a directory, and no symlink");
  }
  struct stat info {};
  const mode_t others = must_be_private ? 0077 : 0022;
  const bool is_safe = fstat(fd.get(), &info) == 0 &&
                       (info.st_uid == geteuid() || (!must_be_private && info.st_uid == 0)) &&
                       (info.st_mode & others) == 0;
  if (!is_safe) {
    return failed("not safe for a socket:", path, 0,
                  "it must be your own, and closed to others: chmod 700");
  }
  return Directory{path, std::move(fd)};
}

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 0022) == 0;
}

// Whether sessions may lie at `path`: /tmp is everybody's, other parents must be our own.
bool has_place_for(const std::string& path) {
  return path == "/tmp/sbx-" + std::to_string(geteuid()) ||
         is_own_directory(path.substr(0, path.rfind('/')));
}

// Goes through the directory's descriptor: sun_path holds 108 bytes only, and no name on the way
// can be replaced. False: the name itself is too long.
bool address_of(const Directory& directory, const std::string& name, sockaddr_un& address) {
  const std::string path = by_number(directory.fd.get()) + "/" + name;
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  return true;
}

std::string lock_name(const std::string& name) { return name + ".lock"; }
std::string token_name(const std::string& name) { return name + ".token"; }

// The lock under which a socket is made or removed. Its file goes with it: one that is locked but
// has no name any more is nobody's, and whoever waited for it makes the next.
class NameLock {
 public:
  NameLock(const Directory& directory, std::string file)
      : directory_(directory), file_(std::move(file)) {}
  ~NameLock() {
    if (fd_.is_open()) unlinkat(directory_.fd.get(), file_.c_str(), 0);
  }
  NameLock(const NameLock&) = delete;
  NameLock& operator=(const NameLock&) = delete;

  Status take() {
    for (int i = 0; i < 2000; ++i) {
      OwnedFd fd(openat(directory_.fd.get(), file_.c_str(),
                        O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
      if (!fd.is_open()) return failed("cannot open", directory_.path + "/" + file_, errno, "");
      if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
        if (!is_named(fd.get())) continue;
        fd_ = std::move(fd);
        return {};
      }
      const struct timespec pause { 0, 5'000'000 };
      nanosleep(&pause, nullptr);
    }
    return failed("somebody holds", directory_.path + "/" + file_, EWOULDBLOCK,
                  "another sbx-run is starting this session: try again");
  }

 private:
  bool is_named(int fd) const {
    struct stat held {};
    struct stat named {};
    return fstat(fd, &held) == 0 &&
           fstatat(directory_.fd.get(), file_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
  }

  const Directory& directory_;
  std::string file_;
  OwnedFd fd_;
};

enum class Listener : std::uint8_t { kNone, kDead, kAlive };

// Whether somebody serves there. That a connection can be made does not say so: a process that a
// dead server forked may hold its listening socket for a moment.
Listener look_for_listener(const Directory& directory, const std::string& name) {
  static constexpr std::string_view kHello = R"({"jsonrpc":"2.0","id":1,"method":"hello"})"
                                             "\n";
  for (int i = 0; i < 100; ++i) {
    const Result<OwnedFd> peer = connect_socket(directory, name);
    if (!peer.ok()) {
      const int why = peer.error().sys_errno;
      if (why == EAGAIN) return Listener::kAlive;  // it is stopped, or very busy
      return why == ECONNREFUSED ? Listener::kDead : Listener::kNone;
    }
    const int fd = peer.value().get();
    (void)send(fd, kHello.data(), kHello.size(), MSG_NOSIGNAL);
    struct pollfd ready {
      fd, POLLIN, 0
    };
    char byte = 0;
    if (poll(&ready, 1, 3000) == 0 || recv(fd, &byte, 1, 0) > 0) return Listener::kAlive;
    const struct timespec pause { 0, 5'000'000 };
    nanosleep(&pause, nullptr);
  }
  return Listener::kAlive;
}

// "DEVICE INODE ", of an open directory.
std::string numbers_of(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return {};
  return std::to_string(info.st_dev) + " " + std::to_string(info.st_ino) + " ";
}

SocketMark mark_of(const Directory& directory, const std::string& name) {
  struct stat info {};
  const bool is_socket =
      fstatat(directory.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISSOCK(info.st_mode);
  if (!is_socket) return {};
  return {info.st_ino, info.st_ctim.tv_sec * std::int64_t{1'000'000'000} + info.st_ctim.tv_nsec};
}

}  // namespace

std::vector<std::string> runtime_directories(const std::string& xdg_runtime_dir) {
  const std::string uid = std::to_string(geteuid());
  std::vector<std::string> paths;
  if (xdg_runtime_dir.starts_with('/')) paths.push_back(xdg_runtime_dir + "/sbx");
  paths.push_back("/run/user/" + uid + "/sbx");
  paths.push_back("/tmp/sbx-" + uid);
  return paths;
}

Result<Directory> open_runtime_directory(const std::string& xdg_runtime_dir) {
  const std::vector<std::string> paths = runtime_directories(xdg_runtime_dir);
  const auto usable = std::find_if(paths.begin(), paths.end() - 1, has_place_for);
  return open_safe(*usable, true);
}

void make_runtime_directory(const std::string& path) {
  if (has_place_for(path)) (void)open_safe(path, true).ok();
}

Result<Directory> open_socket_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return open_safe(".", false);
  return open_safe(slash == 0 ? "/" : path.substr(0, slash), false);
}

Status check_session_name(std::string_view name) {
  const bool is_good =
      !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
          std::string_view::npos;
  if (is_good) return {};
  return Error{ErrorCode::kBadFlag, "bad value for --session: '" + std::string(name) + "'",
               "--session", "1 to 64 letters, digits, '.', '_' and '-', no dot or dash first"};
}

Result<OwnedFd> connect_socket(const Directory& directory, const std::string& name) {
  OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A server that is stopped accepts nobody; connect(2) then waits this long.
  const struct timeval patience { 5, 0 };
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_un address{};
  const bool is_named = address_of(directory, name, address);
  if (fd.is_open() && is_named &&
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return fd;
  }
  return failed("cannot connect to", directory.path + "/" + name, is_named ? errno : ENAMETOOLONG,
                "");
}

SocketPlace::SocketPlace(SocketPlace&& other) noexcept
    : directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      mark_(std::exchange(other.mark_, {})) {}

Status SocketPlace::listen(OwnedFd& listener, bool& is_taken) {
  const std::string path = this->path();
  sockaddr_un address{};
  if (!address_of(directory_, name_, address)) {
    return failed("too long a name for a socket:", path, 0, "at most 80 bytes");
  }
  NameLock held(directory_, lock_name(name_));
  SBX_CHECK_OK(held.take());
  const Listener other = look_for_listener(directory_, name_);
  is_taken = other == Listener::kAlive;
  if (is_taken) return {};
  if (other == Listener::kDead && mark_of(directory_, name_).inode != 0) {
    unlinkat(directory_.fd.get(), name_.c_str(), 0);
  }
  listener.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = umask(0177);
  const bool is_bound =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  umask(before);
  if (is_bound) mark_ = mark_of(directory_, name_);
  if (is_bound && mark_.inode != 0 && ::listen(listener.get(), kBacklog) == 0) return {};
  return failed("cannot listen on", path, is_bound ? errno : error,
                error == EADDRINUSE ? "something else stands there" : "");
}

Status SocketPlace::write_token(std::string_view token) const {
  const std::string file = token_name(name_);
  unlinkat(directory_.fd.get(), file.c_str(), 0);
  const OwnedFd fd(openat(directory_.fd.get(), file.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_written = fd.is_open() && write(fd.get(), token.data(), token.size()) ==
                                              static_cast<ssize_t>(token.size());
  if (is_written) return {};
  return failed("cannot write", directory_.path + "/" + file, errno, "");
}

// The socket last: while it stands, whoever comes after a kill between the two knows whose it was.
void SocketPlace::remove_both() const {
  unlinkat(directory_.fd.get(), token_name(name_).c_str(), 0);
  unlinkat(directory_.fd.get(), name_.c_str(), 0);
}

void SocketPlace::remove() {
  if (mark_.inode == 0) return;
  NameLock held(directory_, lock_name(name_));
  (void)held.take().ok();  // what cannot be locked is still ours
  // A server that came later has put its own there.
  if (mark_of(directory_, name_) == mark_) {
    remove_both();
  }
  mark_ = {};
}

std::string SocketPlace::mark() const {
  return std::to_string(mark_.inode) + " " + std::to_string(mark_.changed_ns);
}

std::string SocketPlace::place_mark() const { return numbers_of(directory_.fd.get()) + path(); }

void SocketPlace::remove_left(const std::string& place_mark,
                              const std::vector<std::string>& marks) {
  const std::size_t second = place_mark.find(' ', place_mark.find(' ') + 1);
  if (second == std::string::npos) return;
  const std::string path = place_mark.substr(second + 1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return;
  const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  OwnedFd fd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open() || numbers_of(fd.get()) != place_mark.substr(0, second + 1)) return;
  SocketPlace place(Directory{parent, std::move(fd)}, path.substr(slash + 1));
  if (marks.empty()) return place.remove_unserved();
  const std::string& mark = marks.back();
  const std::size_t space = mark.find(' ');
  const auto inode = parse_count(mark.substr(0, space), INT64_MAX);
  const auto changed = parse_count(mark.substr(space + 1), INT64_MAX);
  if (inode && changed) place.mark_ = {static_cast<ino_t>(*inode), *changed};
  place.remove();
}

void SocketPlace::remove_unserved() {
  NameLock held(directory_, lock_name(name_));
  if (!held.take().ok() || look_for_listener(directory_, name_) != Listener::kDead) return;
  mark_ = mark_of(directory_, name_);
  if (mark_.inode == 0) return;
  remove_both();
  mark_ = {};
}

std::string read_token(const Directory& directory, const std::string& name) {
  const OwnedFd fd(openat(directory.fd.get(), token_name(name).c_str(),
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  std::string text(128, '\0');
  const ssize_t size = fd.is_open() ? read(fd.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

}  // namespace sbx
