// SPDX-License-Identifier: Apache-2.0
// SocketPlace: a Unix socket in a directory that nobody else can write. Made without a race between
// two servers, found by name however long its path is, and removed with what lies beside it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

// Where the sockets of this user's sessions lie: the first of XDG_RUNTIME_DIR/sbx,
// /run/user/UID/sbx and /tmp/sbx-UID whose parent is there, with its permissions checked.
// `xdg_runtime_dir` may be empty. Made with mode 0700 where it is missing. Errors: kSessionFailed.
struct Directory {
  std::string path;
  OwnedFd fd;
};
Result<Directory> open_runtime_directory(const std::string& xdg_runtime_dir);
// Each place where such a directory may be, whichever there are, the preferred first.
std::vector<std::string> runtime_directories(const std::string& xdg_runtime_dir);
// Makes one of them now, as the first session there would. Where that fails, it would fail as well.
void make_runtime_directory(const std::string& path);

// The directory of `path`, which must be ours (or root's) and not writable by others; made with
// mode 0700 where it is missing. Errors: kSessionFailed.
Result<Directory> open_socket_directory(const std::string& path);

// [A-Za-z0-9._-]{1,64}, not beginning with a dot or a dash. Errors: kBadFlag.
Status check_session_name(std::string_view name);

// A connected socket that blocks. Errors: kSessionFailed, with errno ENOENT or ECONNREFUSED where
// nobody listens.
Result<OwnedFd> connect_socket(const Directory& directory, const std::string& name);

// Tells one socket from the next of the same name, inode numbers being used again.
struct SocketMark {
  ino_t inode = 0;  // 0: none
  std::int64_t changed_ns = 0;
  friend bool operator==(const SocketMark&, const SocketMark&) = default;
};

class SocketPlace {
 public:
  // Nothing is made yet.
  SocketPlace(Directory directory, std::string name)
      : directory_(std::move(directory)), name_(std::move(name)) {}
  ~SocketPlace() { remove(); }
  SocketPlace(SocketPlace&& other) noexcept;
  SocketPlace& operator=(SocketPlace&&) = delete;

  // Makes a listening socket of mode 0600, in `listener`. What a dead server left is replaced;
  // where another one answers, `is_taken` is set and nothing is made. Errors: kSessionFailed.
  Status listen(OwnedFd& listener, bool& is_taken);

  // A file of mode 0600 beside it, "NAME.token". Errors: kSessionFailed.
  Status write_token(std::string_view token) const;

  // Removes socket, token and lock, if they are still ours.
  void remove();

  // For who removes it when the maker is killed: where it is to be, and which socket was made
  // there.
  std::string path() const { return directory_.path + "/" + name_; }
  std::string place_mark() const;  // the directory's numbers, and the path
  std::string mark() const;
  // Removes that socket; without any mark, what nobody serves on. Nothing where another directory
  // stands there by now: a command may have put it, or a symlink, in the way.
  static void remove_left(const std::string& place_mark, const std::vector<std::string>& marks);

  const std::string& name() const { return name_; }
  const Directory& directory() const { return directory_; }

 private:
  void remove_unserved();
  void remove_both() const;

  Directory directory_;
  std::string name_;
  SocketMark mark_;
};

// The text of the token file; empty where there is none.
std::string read_token(const Directory& directory, const std::string& name);

}  // namespace sbx
