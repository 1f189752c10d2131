// SPDX-License-Identifier: Apache-2.0
// Descriptors on either side of the clone: held for a scope, or in a message over the control
// socket. No heap, no exceptions: all of it fits on a child's stack.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace sbx {

// Never 0, which would pass for success.
inline int failure() { return errno == 0 ? EIO : errno; }

// Without state that could be closed twice after vfork.
struct ScopedFd {
  int fd;
  ~ScopedFd() {
    if (fd >= 0) ::close(fd);
  }
};

// One message of some bytes and at most `kMost` descriptors; `bytes` must outlive it.
template <std::size_t kMost>
class FdMessage {
 public:
  FdMessage(void* bytes, std::size_t size) : data_{bytes, size} {
    header_.msg_iov = &data_;
    header_.msg_iovlen = 1;
  }
  FdMessage(const FdMessage&) = delete;
  FdMessage& operator=(const FdMessage&) = delete;

  // As sendmsg(2); `count` of 0: none go with it.
  ssize_t send(int socket, const int* fds, std::size_t count, int flags = 0) {
    if (count > 0) {
      const std::size_t size = count * sizeof(int);
      header_.msg_control = control_;
      header_.msg_controllen = CMSG_SPACE(size);
      struct cmsghdr* const rights = CMSG_FIRSTHDR(&header_);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(size);
      std::memcpy(CMSG_DATA(rights), fds, size);
    }
    return ::sendmsg(socket, &header_, MSG_NOSIGNAL | flags);
  }

  // As recvmsg(2).
  ssize_t receive(int socket) {
    header_.msg_control = control_;
    header_.msg_controllen = CMSG_LEN(kMost * sizeof(int));  // what else comes, is closed
    return ::recvmsg(socket, &header_, MSG_CMSG_CLOEXEC);
  }
  // What receive() brought, all of it close-on-exec and the caller's.
  std::size_t take(int (&fds)[kMost]) {
    const struct cmsghdr* const rights = CMSG_FIRSTHDR(&header_);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return 0;
    const std::size_t size = rights->cmsg_len - CMSG_LEN(0);
    std::memcpy(fds, CMSG_DATA(rights), size);
    return size / sizeof(int);
  }

 private:
  alignas(struct cmsghdr) char control_[CMSG_SPACE(kMost * sizeof(int))] = {};
  struct iovec data_;
  struct msghdr header_ {};
};

}  // namespace sbx
