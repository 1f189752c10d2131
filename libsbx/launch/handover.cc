// SPDX-License-Identifier: Apache-2.0
// Both sides of the handover.
#include "launch/handover.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "launch/descriptors.h"

namespace sbx {
namespace {

// Places strings and arrays of pointers behind the slot.
class Packer {
 public:
  explicit Packer(CommandSlot& slot)
      : next_(reinterpret_cast<char*>(&slot + 1)),
        end_(reinterpret_cast<char*>(&slot) + kHandoverSize) {}

  const char* text(const std::string& string) {
    char* const place = take(string.size() + 1);
    if (place != nullptr) std::memcpy(place, string.c_str(), string.size() + 1);
    return place;
  }

  // `spare` places stand in front of the array that is answered; NULL stands at its end.
  char** array(const std::vector<std::string>& strings, std::size_t spare) {
    next_ += (alignof(char*) - reinterpret_cast<std::uintptr_t>(next_) % alignof(char*)) %
             alignof(char*);
    char** const array =
        reinterpret_cast<char**>(take((spare + strings.size() + 1) * sizeof(char*)));
    if (array == nullptr) return nullptr;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      array[spare + i] = const_cast<char*>(text(strings[i]));
    }
    array[spare + strings.size()] = nullptr;
    return array + spare;
  }

  bool fits() const { return fits_; }

 private:
  char* take(std::size_t size) {
    if (next_ > end_ || size > static_cast<std::size_t>(end_ - next_)) fits_ = false;
    if (!fits_) return nullptr;
    char* const place = next_;
    next_ += size;
    return place;
  }

  char* next_;
  char* end_;
  bool fits_ = true;
};

}  // namespace

bool fits_handover(const LaunchPlan& plan) {
  std::size_t size = sizeof(CommandSlot) + plan.cwd.size() + 256;
  for (const auto* strings : {&plan.argv, &plan.environment, &plan.executables}) {
    for (const std::string& string : *strings) size += string.size() + 1 + sizeof(char*);
  }
  return size <= kHandoverSize;
}

Status hand_over(Spawned& spawned, const LaunchPlan& plan, const int (&standard)[3]) {
  CommandSlot& slot = *spawned.slot;
  Packer packer(slot);
  slot.cwd = packer.text(plan.cwd);
  slot.executables = packer.array(plan.executables, 0);
  slot.argv = packer.array(plan.argv, 1);
  slot.envp = packer.array(plan.environment, 0);
  if (!packer.fits()) {
    return Error{ErrorCode::kTooLarge, "arguments and environment are too long to hand over",
                 "argv", "at most 1 MiB together"};
  }
  char byte = 0;
  FdMessage<3> message(&byte, 1);
  if (message.send(spawned.control.get(), standard, 3) == 1) return {};
  const int error = errno;
  return call_failed(ErrorCode::kSetupFailed, "sendmsg(control)", "sendmsg", "", error);
}

int await_command(CommandSlot& slot, int control) noexcept {
  slot.is_waiting.store(1);
  for (;;) {
    struct pollfd waiting {
      control, POLLIN, 0
    };
    if (::poll(&waiting, 1, -1) < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    char byte = 0;
    FdMessage<3> message(&byte, 1);
    const ssize_t size = message.receive(control);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size < 0) return errno;
    if (size == 0) ::_exit(0);  // nobody wants it any more
    int received[3];
    if (message.take(received) != 3) return EBADMSG;
    for (int fd = 0; fd < 3; ++fd) {
      if (::dup2(received[fd], fd) < 0) return errno;
      ::close(received[fd]);
    }
    return 0;
  }
}

}  // namespace sbx
