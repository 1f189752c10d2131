// SPDX-License-Identifier: Apache-2.0
// UnixPeers: whose socket is it that a path inside leads to? One that the operator listed, one that
// was made inside, or one of the host. Looks at inodes and asks the kernel which network namespace
// their sockets are in, or who holds them; connects to nothing. How long that takes is for the
// command to choose, so the questions are asked by a process that shares this one's memory: they
// use neither the heap nor errno.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"

namespace sbx {

class UnixPeers {
 public:
  enum class Owner : std::uint8_t { kListed, kInside, kHost, kNobody };

  struct Listed {
    std::string path;  // absolute, on the host
    // In a writable root the command chooses what lies at the path: then only the file counts that
    // was there at the start.
    bool is_pinned = false;
    dev_t dev = 0;
    ino_t ino = 0;
  };

  // Of what is not shown a caller learns nothing by trying: the host's sockets are told of where
  // the command's text, which must outlive this, names them, or all refusals are traced.
  struct Told {
    std::string_view text;
    bool all = false;
  };

  UnixPeers(std::vector<std::string> listed, const std::vector<std::string>& writable_roots);

  // The private tmpfs: what lies there was made inside.
  void set_scratch(int fd);
  // A NETLINK_SOCK_DIAG socket of the sandbox's own network namespace.
  void set_diag(OwnedFd diag) { diag_ = std::move(diag); }
  int diag() const { return diag_.get(); }

  void set_told(const Told& told) { told_ = told; }
  // Whether the host may be asked for a socket at that path, as the caller gave it. Also those of
  // services that programs look for by themselves.
  bool may_tell(std::string_view path) const;

  // The questions. kListed, kInside, or nullopt: to be found out.
  std::optional<Owner> own_or_listed(const struct stat& info) const;
  // `diag` is that of set_diag(), `path` an O_PATH descriptor of a socket; `inside` is a process of
  // the sandbox. nullopt where this kernel cannot list Unix sockets.
  static std::optional<Owner> owner_by_namespace(int diag, int path, const struct stat& info,
                                                 pid_t inside);

 private:
  std::vector<Listed> listed_;
  bool has_scratch_ = false;
  dev_t scratch_ = 0;
  OwnedFd diag_;
  Told told_;
};

// For where no network namespace tells inside from outside: whether a process in the pid namespace
// of `inside` holds the listening socket. By the inode of `path`, or by an abstract name (its
// bytes, the leading zero among them).
bool listens_inside(const struct stat& path, pid_t inside);
bool listens_inside(std::string_view abstract_name, pid_t inside);

}  // namespace sbx
