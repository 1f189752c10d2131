// SPDX-License-Identifier: Apache-2.0
// Reads descriptors, mappings and sock_diag(7). The names of files in memory are the command's own
// choice: one that claims to be such a file is charged, never left out.
#include "run/memory_count.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/text.h"

namespace sbx {
namespace {

// As /proc/PID/fd and /proc/PID/maps call them.
constexpr std::string_view kMemoryFile = "/memfd:";
constexpr std::array<std::string_view, 3> kMappedMemory = {kMemoryFile, "/dev/zero (deleted)",
                                                           "/anon_hugepage"};

std::uint64_t number(std::string_view text, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// The next word of a line, taken off its front.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// More than any machine has. A mapping may begin anywhere in its file, and what the command chooses
// must not add up to a number that is negative.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

struct Mapping {
  std::string_view range;  // "START-END"
  std::uint64_t end_offset = 0;
  dev_t device = 0;
  ino_t inode = 0;
  std::string_view path;
};

// proc_pid_maps(5): START-END PERMS OFFSET MAJOR:MINOR INODE PATH
Mapping parse_mapping(std::string_view line) {
  Mapping mapping;
  mapping.range = take_word(line);
  take_word(line);
  const std::uint64_t offset = number(take_word(line), 16);
  const std::string_view device = take_word(line);
  mapping.inode = number(take_word(line), 10);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = line;
  const std::size_t dash = mapping.range.find('-');
  const std::size_t colon = device.find(':');
  if (dash == std::string_view::npos || colon == std::string_view::npos) return {};
  mapping.end_offset = offset + number(mapping.range.substr(dash + 1), 16) -
                       number(mapping.range.substr(0, dash), 16);
  mapping.device = makedev(static_cast<unsigned>(number(device.substr(0, colon), 16)),
                           static_cast<unsigned>(number(device.substr(colon + 1), 16)));
  return mapping;
}

// As it is known, without asking a server: any file may have a name that looks like memory.
bool look_at(int dirfd, const char* path, struct statx& info) {
  return statx(dirfd, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_BLOCKS, &info) == 0;
}

dev_t device_of(const struct statx& info) {
  return makedev(info.stx_dev_major, info.stx_dev_minor);
}

std::int64_t bytes_of(const struct statx& info) {
  return static_cast<std::int64_t>(info.stx_blocks) * 512;
}

// --- sockets ---

constexpr std::uint32_t kEveryState = ~0U;

// Adds what the attributes of one socket tell.
std::int64_t sum_unix(rtattr* attribute, int left) {
  std::int64_t bytes = 0;
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    const auto size = std::min(static_cast<std::size_t>(RTA_PAYLOAD(attribute)), sizeof memory);
    if (attribute->rta_type == UNIX_DIAG_MEMINFO) {
      std::memcpy(memory.data(), RTA_DATA(attribute), size);
      bytes += std::int64_t{memory[SK_MEMINFO_RMEM_ALLOC]} + memory[SK_MEMINFO_WMEM_ALLOC];
    } else if (attribute->rta_type == UNIX_DIAG_RQLEN) {
      // What a sender that is closed by now has left here is in nobody else's count.
      unix_diag_rqlen queue{};
      std::memcpy(&queue, RTA_DATA(attribute), std::min(size, sizeof queue));
      bytes += queue.udiag_rqueue;
    }
  }
  return bytes;
}

std::int64_t sum_inet(rtattr* attribute, int left) {
  std::int64_t bytes = 0;
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type != INET_DIAG_SKMEMINFO) continue;
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    std::memcpy(memory.data(), RTA_DATA(attribute),
                std::min(static_cast<std::size_t>(RTA_PAYLOAD(attribute)), sizeof memory));
    bytes += std::int64_t{memory[SK_MEMINFO_RMEM_ALLOC]} + memory[SK_MEMINFO_WMEM_QUEUED] +
             memory[SK_MEMINFO_BACKLOG];
  }
  return bytes;
}

// Sends `request` and sums over the answer. A family that this kernel cannot list counts nothing.
template <typename Request, typename Answer>
std::int64_t dump(int diag, const Request& request, std::int64_t (*sum)(rtattr*, int),
                  const MemoryCount::IsLate& is_late) {
  struct {
    nlmsghdr header;
    Request request;
  } message{};
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request = request;
  alignas(nlmsghdr) static std::array<char, std::size_t{32} << 10> buffer;
  // One that left off has left the rest of its answer, which the kernel writes as it is read.
  while (recv(diag, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) {
    if (is_late && is_late()) return 0;
  }
  if (send(diag, &message, sizeof message, MSG_DONTWAIT) < 0) return 0;
  std::int64_t bytes = 0;
  // The answer is written while it is read: nothing here waits.
  while (!is_late || !is_late()) {
    const ssize_t size = recv(diag, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return bytes;
    auto left = static_cast<unsigned>(size);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) return bytes;
      if (header->nlmsg_len < NLMSG_LENGTH(sizeof(Answer))) continue;
      auto* const attributes = reinterpret_cast<rtattr*>(static_cast<char*>(NLMSG_DATA(header)) +
                                                         NLMSG_ALIGN(sizeof(Answer)));
      bytes += sum(attributes, static_cast<int>(header->nlmsg_len - NLMSG_SPACE(sizeof(Answer))));
    }
  }
  return bytes;
}

std::int64_t inet_bytes(int diag, int family, int protocol, const MemoryCount::IsLate& is_late) {
  inet_diag_req_v2 request{};
  request.sdiag_family = static_cast<std::uint8_t>(family);
  request.sdiag_protocol = static_cast<std::uint8_t>(protocol);
  request.idiag_ext = 1U << (INET_DIAG_SKMEMINFO - 1);
  request.idiag_states = kEveryState;
  return dump<inet_diag_req_v2, inet_diag_msg>(diag, request, sum_inet, is_late);
}

}  // namespace

void MemoryCount::note(dev_t device, ino_t inode, std::int64_t bytes, bool is_exact) {
  Held& held = held_[{device, inode}];
  if (held.is_exact && !is_exact) return;
  held.bytes = is_exact ? bytes : std::max(held.bytes, bytes);
  held.is_exact = is_exact;
}

void MemoryCount::add_open(int proc, const std::string& pid) {
  Listing listing(proc, (pid + "/fd").c_str());
  while (!is_late()) {
    const dirent* entry = listing.next();
    if (entry == nullptr) return;
    std::array<char, 16> target{};
    const ssize_t size = readlinkat(listing.fd(), entry->d_name, target.data(), target.size());
    if (size <= 0 ||
        !std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(kMemoryFile)) {
      continue;
    }
    struct statx info {};
    if (!look_at(listing.fd(), entry->d_name, info)) continue;
    note(device_of(info), info.stx_ino, bytes_of(info), true);
  }
}

void MemoryCount::add_mapped(int proc, const std::string& pid) {
  const OwnedFd file(openat(proc, (pid + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return;
  std::string pending;
  std::array<char, std::size_t{16} << 10> part;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!is_late()) {
    const ssize_t size = read(file.get(), part.data(), part.size());
    if (size <= 0) return;
    pending.append(part.data(), static_cast<std::size_t>(size));
    const std::size_t end = pending.rfind('\n');
    if (end == std::string::npos) continue;
    add_maps(proc, pid, std::string_view(pending).substr(0, end));
    pending.erase(0, end + 1);
  }
}

void MemoryCount::add_maps(int proc, const std::string& pid, std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const bool is_memory = std::any_of(
        kMappedMemory.begin(), kMappedMemory.end(),
        [&](std::string_view name) { return line.find(name) != std::string_view::npos; });
    if (!is_memory) continue;
    const Mapping mapping = parse_mapping(line);
    if (mapping.inode == 0) continue;
    struct statx info {};
    const std::string place = pid + "/map_files/" + std::string(mapping.range);
    if (look_at(proc, place.c_str(), info) && info.stx_ino == mapping.inode) {
      note(mapping.device, mapping.inode, bytes_of(info), true);
    } else {
      const std::uint64_t most = kMostBytes;
      note(mapping.device, mapping.inode,
           static_cast<std::int64_t>(std::min(mapping.end_offset, most)), false);
    }
  }
}

std::int64_t MemoryCount::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [file, held] : held_) sum = std::min(sum + held.bytes, kMostBytes);
  return sum;
}

std::int64_t socket_bytes(int diag, const MemoryCount::IsLate& is_late) {
  unix_diag_req request{};
  request.sdiag_family = AF_UNIX;
  request.udiag_states = kEveryState;
  request.udiag_show = UDIAG_SHOW_MEMINFO | UDIAG_SHOW_RQLEN;
  std::int64_t bytes = dump<unix_diag_req, unix_diag_msg>(diag, request, sum_unix, is_late);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const int protocol : {IPPROTO_TCP, IPPROTO_UDP}) {
      bytes += inet_bytes(diag, family, protocol, is_late);
    }
  }
  return bytes;
}

}  // namespace sbx
