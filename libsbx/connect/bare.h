// SPDX-License-Identifier: Apache-2.0
// bare: the little that code needs which may use neither the heap nor errno, since another process
// uses them at the same time in the same memory: texts of a bounded size, numbers, files of /proc.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sys/calls.h"

namespace sbx::bare {

inline long at(const void* place) { return reinterpret_cast<long>(place); }

// As sys::call_without_errno(): the result or -errno.
template <typename... Arguments>
long call(long number, Arguments... arguments) {
  return sys::call_without_errno(number, static_cast<long>(arguments)...);
}

// The number that the text begins with; 0 where it begins with none.
inline std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Front, number, end; what is too long is cut.
template <std::size_t kSize>
class Text {
 public:
  Text(std::string_view front, std::uint64_t value, std::string_view end) {
    std::array<char, 24> digits{};
    const auto last = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    add(front);
    add({digits.data(), static_cast<std::size_t>(last - digits.data())});
    add(end);
  }
  const char* text() const { return text_.data(); }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  void add(std::string_view more) {
    more = more.substr(0, kSize - 1 - size_);
    std::memcpy(text_.data() + size_, more.data(), more.size());
    size_ += more.size();
  }
  std::array<char, kSize> text_{};
  std::size_t size_ = 0;
};

struct ProcPath : Text<64> {
  ProcPath(pid_t pid, std::string_view end)
      : Text("/proc/", static_cast<std::uint64_t>(pid), end) {}
};

struct Fd {
  explicit Fd(long opened) : fd(opened) {}
  ~Fd() {
    if (fd >= 0) call(SYS_close, fd);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  const long fd;
};

// The beginning of a file of /proc, as much as there is room for.
template <std::size_t kPath, std::size_t kRoom>
std::string_view read_file(const Text<kPath>& path, std::array<char, kRoom>& room) {
  const Fd file(call(SYS_openat, AT_FDCWD, at(path.text()), O_RDONLY | O_CLOEXEC));
  const long size = file.fd < 0 ? 0 : call(SYS_read, file.fd, at(room.data()), room.size());
  return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace sbx::bare
