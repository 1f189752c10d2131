// SPDX-License-Identifier: Apache-2.0
// The notification loop of seccomp_unotify(2).
#include "trace/refusals.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "json/writer.h"
#include "model/grant.h"
#include "sys/calls.h"
#include "sys/kernel.h"

namespace sbx {

namespace {

// What only a capability lets anybody do, and no command has one: where namespaces may be made
// inside, none is refused but what only the machine's own root may do.
constexpr int kPrivileged[] = {
    SYS_sethostname, SYS_setdomainname,   SYS_syslog,      SYS_vhangup,       SYS_chroot,
    SYS_pivot_root,  SYS_umount2,         SYS_fsopen,      SYS_fspick,        SYS_fsmount,
    SYS_move_mount,  SYS_mount_setattr,   SYS_acct,        SYS_clock_settime, SYS_settimeofday,
    SYS_swapon,      SYS_swapoff,         SYS_init_module, SYS_finit_module,  SYS_delete_module,
    SYS_kexec_load,  SYS_kexec_file_load,
#ifdef __x86_64__
    SYS_iopl,        SYS_ioperm,
#endif
};

// What the kernel refuses as well, once the filter lets the call through: raw and packet sockets
// need a capability on the host's network, and no command of root's may make a namespace.
// As the filter compares: the low halves of the registers.
const char* refused_all_the_same(const sys::SeccompNotif& call) {
  const auto first = static_cast<std::uint32_t>(call.data.args[0]);
  if (call.data.nr == SYS_socket) {
    constexpr std::uint32_t kTypes = 0xf;
    const bool is_raw = (static_cast<std::uint32_t>(call.data.args[1]) & kTypes) == SOCK_RAW;
    const bool is_of_hosts = first == AF_INET || first == AF_INET6;
    return first == AF_PACKET || (is_raw && is_of_hosts) ? "a raw or packet socket" : nullptr;
  }
  if (std::find(std::begin(kPrivileged), std::end(kPrivileged), call.data.nr) !=
      std::end(kPrivileged)) {
    return "what needs a capability, which no command has";
  }
  constexpr std::uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                        CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  // CLONE_NEWTIME, which in clone is a part of the exit signal.
  const bool makes_one = (call.data.nr == SYS_clone && (first & kNamespaces) != 0) ||
                         (call.data.nr == SYS_unshare && (first & (kNamespaces | 0x80U)) != 0);
  return makes_one && geteuid() == 0 ? "a namespace, which no command of root's may make" : nullptr;
}

// As the filter compares: the low halves of the registers.
bool is_unix_datagram(const sys::SeccompNotif& call) {
  constexpr int kTypes = 0xf;
  return static_cast<int>(call.data.args[0]) == AF_UNIX &&
         (static_cast<int>(call.data.args[1]) & kTypes) == SOCK_DGRAM;
}

// What was to be made: a grant lets every family pass.
std::string socket_text(const sys::SeccompNotif& call) {
  static constexpr std::pair<int, const char*> kFamilies[] = {
      {AF_UNIX, "AF_UNIX"}, {AF_INET, "AF_INET"},       {AF_INET6, "AF_INET6"},
      {AF_ALG, "AF_ALG"},   {AF_NETLINK, "AF_NETLINK"}, {AF_VSOCK, "AF_VSOCK"},
      {AF_KEY, "AF_KEY"},   {AF_CAN, "AF_CAN"},         {AF_BLUETOOTH, "AF_BLUETOOTH"},
      {AF_TIPC, "AF_TIPC"}, {AF_XDP, "AF_XDP"}};
  const auto family = static_cast<int>(call.data.args[0]);
  std::string text = "family " + std::to_string(family);
  for (const auto& [number, name] : kFamilies) {
    if (number == family) text = name;
  }
  if (is_unix_datagram(call)) return text + ", SOCK_DGRAM";
  return text + ", protocol " + std::to_string(static_cast<std::int32_t>(call.data.args[2]));
}

bool is_internet_socket(const sys::SeccompNotif& call) {
  const auto family = static_cast<int>(call.data.args[0]);
  return call.data.nr == SYS_socket && (family == AF_INET || family == AF_INET6);
}

// Raw ones were told apart before.
bool is_had_with_a_network(const sys::SeccompNotif& call) {
  const auto protocol = static_cast<std::uint32_t>(call.data.args[2]);
  return std::find(std::begin(kInetProtocols), std::end(kInetProtocols), protocol) !=
         std::end(kInetProtocols);
}

Denial denial_of(const sys::SeccompNotif& call, CallFault fault, std::string program,
                 bool without_network) {
  Denial denial{Refuser::kSeccomp, syscall_name(call.data.nr), "", 1, std::move(program), ""};
  // The kernel has no other ids in there to give a file to: a grant would change nothing.
  if (fault == CallFault::kForeignId) {
    denial.target = "an owner or group that is not mapped inside";
  } else if (const char* const what = refused_all_the_same(call)) {
    denial.target = what;
  } else {
    if (call.data.nr == SYS_socket || call.data.nr == SYS_socketpair) {
      denial.target = socket_text(call);
      // Let pass, it would send to every path; or be one of the host's network.
      if (is_unix_datagram(call)) return denial;
      if (without_network && is_internet_socket(call)) {
        if (is_had_with_a_network(call)) denial.grant = "network.mode = \"open\"";
        return denial;
      }
    }
    const bool is_lease =
        call.data.nr == SYS_fcntl && static_cast<int>(call.data.args[1]) == F_SETLEASE;
    if (is_lease) denial.target = "a lease";
    denial.grant = append_grant("seccomp.allow", json_string(denial.operation));
  }
  if (fault == CallFault::kSetIdBit) denial.target = "a set-uid or set-gid bit";
  return denial;
}

// Of a line of /proc/PID/status; 0 where it is missing.
std::uint64_t number_after(std::string_view status, std::string_view label, int base) {
  const std::size_t at = status.find(label);
  std::uint64_t number = 0;
  if (at == std::string_view::npos) return number;
  std::from_chars(status.data() + at + label.size(), status.data() + status.size(), number, base);
  return number;
}

}  // namespace

std::string program_name(std::uint32_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string name(32, '\0');
  const ssize_t size = fd.is_open() ? read(fd.get(), name.data(), name.size()) : 0;
  name.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

void Refusals::set_listener(OwnedFd fd) {
  listener_ = std::move(fd);
  // Since Linux 6.6: the caller is woken on this CPU, at once.
  ioctl(listener_.get(), sys::kSeccompIoctlNotifSetFlags, sys::kSeccompUserNotifFdSyncWakeUp);
}

void Refusals::observe(const std::vector<int>& calls, Observer observer) {
  for (const int number : calls) observed_.set(static_cast<std::size_t>(number));
  observer_ = std::move(observer);
}

void Refusals::respond(std::uint64_t id, int error) const {
  sys::SeccompNotifResponse response{};
  response.id = id;
  response.error = -error;
  send(response);
}

void Refusals::let_go_on(std::uint64_t id) const {
  sys::SeccompNotifResponse response{};
  response.id = id;
  response.flags = sys::kSeccompNotifFlagContinue;
  send(response);
}

// By SIGSYS, as the kernel would; by SIGKILL where the process holds that off. The call is refused
// whatever comes of it: a tracer of its own may keep the signal back.
void Refusals::end_process(const sys::SeccompNotif& call) const {
  const Result<std::string> read =
      read_file("/proc/" + std::to_string(call.pid) + "/status", std::size_t{1} << 16);
  const std::string_view status = read.ok() ? std::string_view(read.value()) : std::string_view();
  const auto pid = static_cast<pid_t>(number_after(status, "\nTgid:\t", 10));
  const OwnedFd process(pid > 0 ? sys::pidfd_open(pid, 0) : -1);
  bool is_held_off = false;
  for (const char* const mask : {"\nSigBlk:\t", "\nSigIgn:\t", "\nSigCgt:\t"}) {
    is_held_off = is_held_off || (number_after(status, mask, 16) >> (SIGSYS - 1) & 1U) != 0;
  }
  // While it waits its number is nobody else's.
  if (process.is_open() && is_waiting(call.id)) {
    sys::pidfd_send_signal(process.get(), is_held_off ? SIGKILL : SIGSYS);
  }
  respond(call.id, EPERM);
}

void Refusals::send(sys::SeccompNotifResponse response) const {
  // Unanswered, the caller would wait for ever. ENOENT: it has gone.
  for (int i = 0; i < 3; ++i) {
    if (ioctl(listener_.get(), sys::kSeccompIoctlNotifSend, &response) == 0 || errno == ENOENT) {
      return;
    }
  }
}

bool Refusals::is_waiting(std::uint64_t id) const {
  return ioctl(listener_.get(), sys::kSeccompIoctlNotifIdValid, &id) == 0;
}

bool Refusals::answer() {
  using Clock = std::chrono::steady_clock;
  static constexpr int kBurst = 256;
  // What a mediated call costs is for the inside to choose; the loop has clocks to look at.
  const auto until = Clock::now() + std::chrono::milliseconds(5);
  for (int i = 0; i < kBurst && Clock::now() < until; ++i) {
    // RECV would block, and on 6.1 for ever once the last task has gone: poll first.
    struct pollfd waiting {
      listener_.get(), POLLIN, 0
    };
    if (poll(&waiting, 1, 0) <= 0) return true;
    if ((waiting.revents & POLLIN) == 0) return (waiting.revents & (POLLHUP | POLLERR)) == 0;
    sys::SeccompNotif call{};
    if (ioctl(listener_.get(), sys::kSeccompIoctlNotifRecv, &call) != 0) {
      if (errno == ENOENT || errno == EINTR) continue;  // the caller died meanwhile
      return false;
    }
    if (std::optional<std::string> foreign = foreign_call(call.data.arch, call.data.nr)) {
      denials_.count({Refuser::kSeccomp, "foreign_architecture", std::move(*foreign), 1,
                      program_name(call.pid), ""});
      end_process(call);
      continue;
    }
    const auto number = static_cast<std::size_t>(call.data.nr);
    // The filter hands both kinds of such a call over; its registers cannot change meanwhile.
    const CallFault fault = fault_of(call.data.nr, call.data.args, own_ids_);
    if (number < observed_.size() && observed_.test(number) && fault == CallFault::kNone) {
      observer_(call);
      continue;
    }
    if (mediator_ && (call.data.nr == SYS_connect ||
                      (call.data.nr == SYS_socketpair && is_unix_datagram(call)))) {
      if (const std::optional<int> error = mediator_(call)) respond(call.id, *error);
      continue;
    }
    denials_.count(denial_of(call, fault, program_name(call.pid), without_network_));
    respond(call.id, EPERM);
  }
  return true;
}

}  // namespace sbx
