// SPDX-License-Identifier: Apache-2.0
// The operations of a sandbox's plan. Each says its rule of order (plan/order.h) and its words;
// launch/ executes them. bubblewrap's own are in bwrap/operations.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/operation.h"
#include "profile/profile.h"

namespace sbx {

// What the child sends out, with a descriptor where nothing else is said.
enum class ReportTag : std::uint8_t {
  kProc,
  kScratch,
  kPty,
  kListener,
  kOverlay,
  kSharedMemory,
  kDnsUdp4,
  kDnsTcp4,
  kDnsUdp6,
  kDnsTcp6,
  kAnswer,      // PID 1's to an InsideRequest (launch/spawn.h)
  kBegun,       // without a descriptor: the command's exec has succeeded
  kStopped,     // without a descriptor: the command, a job, has been stopped
  kSocketDiag,  // lists the sockets of the network namespace
};

// How a placement that was lost is put back.
enum class GuardKind : std::uint8_t {
  kCover,  // by an empty file or directory
  kBind,   // by what is there, bound over itself
  kFixed,  // not at all
  kNever,  // nothing stood there: what comes to be is taken away
};
enum GuardFlag : std::uint64_t {
  kGuardMayVanish = 1,     // where nothing is, nothing has to be covered
  kGuardStartsAbsent = 2,  // nothing is there yet
  kGuardLink = 4,          // a symlink is covered as such
  kGuardSystem = 8,        // a denied program
  kGuardQuiet = 16,        // only holds the place of another
};

enum class FileSystem : std::uint8_t { kTmpfs, kProc, kDevpts, kMqueue, kOverlay };
const char* file_system_name(FileSystem type);

// "ro,nosuid,…" for MOUNT_ATTR_*.
std::string attributes_text(std::uint64_t attributes);
// The beginning of a text that a file gets, quoted.
std::string quoted_start(std::string_view content);

namespace op {

// Offsets into the plan's arena, NUL-terminated; the default is the empty text.
struct Text {
  std::uint32_t offset = 0;
};
struct Content {
  Text text;
  std::uint32_t size = 0;
};

// A file that must still be the one that was looked at; an inode of 0: whatever is there.
struct FileId {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
};

// --- in the new namespaces, with their capabilities ---

// open(O_WRONLY), one write.
struct WriteFile {
  Text path;
  Content content;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Takes every mount out of the host's propagation.
struct PrivateMounts {
  static constexpr OrderRule kOrder = order::before_pivot;
  static constexpr const char* kWords = "private_mounts";
  int execute(ChildContext& context) const noexcept;
};

// A new file system. Kernels may lack message queues: then nothing is mounted.
struct Mount {
  FileSystem type;
  Text path;
  Text options;
  std::uint64_t flags;  // MS_*
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// chdir to the new root.
struct EnterRoot {
  Text path;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct MakeDir {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Created anew.
struct MakeFile {
  Text path;
  Content content;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct MakeLink {
  Text path;
  Text target;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// What only root can change, at a place on our own tmpfs.
struct BindSystem {
  Text source;
  Text path;
  std::uint64_t attributes;  // MOUNT_ATTR_* set
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// One of plan.mapped_trees, at its place.
struct AttachMapped {
  Text path;
  std::uint32_t tree;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A mask inside the new root, over what only root can change; a symlink is itself covered.
struct BindMask {
  Text mask;
  Text path;
  bool is_link;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct Bind {
  Text source;
  Text path;
  std::uint64_t attributes;
  FileId file;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// From inside the new root.
struct BindInside {
  Text source;
  Text path;
  std::uint64_t attributes;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A mount inside the new root.
struct MoveInside {
  Text source;
  Text path;
  std::uint64_t attributes;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Not recursive.
struct SetAttributes {
  Text path;
  std::uint64_t attributes;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Opened inside the new root and sent out.
struct ReportFd {
  Text path;
  ReportTag tag;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Our tmpfs, so that many bytes are free in it from now on.
struct SizeTmpfs {
  Text path;
  std::uint64_t flags;  // MS_*
  std::uint64_t free_bytes;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A setting of a namespace that gets half of the machine's. Kernels have or lack each of them.
struct Halve {
  Text path;
  Text machine;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// pivot_root(".", "."), detach the old root, chdir("/").
struct Pivot {
  static constexpr OrderRule kOrder = order::pivot;
  static constexpr const char* kWords = "pivot";
  int execute(ChildContext& context) const noexcept;
};

// Begins to make the network namespace, in a process beside. Its loopback is up.
struct MakeNetwork {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "make_network";
  int execute(ChildContext& context) const noexcept;
};

// Enters it. What PID 1 makes from here on is inside.
struct JoinNetwork {
  static constexpr OrderRule kOrder = order::join_network;
  static constexpr const char* kWords = "join_network";
  int execute(ChildContext& context) const noexcept;
};

struct LoopbackUp {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "loopback_up";
  int execute(ChildContext& context) const noexcept;
};

// Settings of the network namespace, where they can be written.
struct TuneNetwork {
  bool opens_low_ports;  // those below 1024 need no capability
  bool answers_no_echo;  // to ping, where every address is local
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Every address is local: 0.0.0.0/0 and ::/0, so each connection ends in this namespace. A kernel
// without IPv6 has only the IPv4 route.
struct LocalRoutes {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "local_routes";
  int execute(ChildContext& context) const noexcept;
};

// UDP and TCP port 53 of every address, sent out.
struct ListenForDns {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "listen_for_dns";
  int execute(ChildContext& context) const noexcept;
};

struct SetHostname {
  Text name;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct NotDumpable {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "not_dumpable";
  int execute(ChildContext& context) const noexcept;
};

struct DieWithParent {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "die_with_parent";
  int execute(ChildContext& context) const noexcept;
};

// --- placements that the host can uncover (launch/guards.h) ---

// Keeps hold of what covers files and directories.
struct PrepareGuards {
  ReplacedMode replaced;
  Text file;
  Text directory;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A directory that is not there is watched once it is. One that may not be listed is not the
// caller's own, and left alone.
struct Watch {
  Text path;
  bool is_system;        // only denied programs depend on it
  std::int32_t fd = -1;  // the child's
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) noexcept;
};

// Remembers which mount stands there. ESTALE when none does any more.
struct Guard {
  Text path;
  GuardKind kind;
  bool is_off = false;     // the child's, and so is the mount's id
  std::uint8_t times = 0;  // that something was taken away
  std::uint64_t attributes;
  std::uint64_t flags;  // GuardFlag
  std::uint64_t mount_id = 0;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) noexcept;
};

// ESTALE when a placement is no longer what it was, or was not for a while: before the exec of a
// command that has waited.
struct CheckGuards {
  static constexpr OrderRule kOrder = order::once_awaited;
  static constexpr const char* kWords = "check_guards";
  int execute(ChildContext& context) const noexcept;
};

// --- in the process that becomes the command ---

// What follows it happens there.
struct ForkCommand {
  static constexpr OrderRule kOrder = order::fork;
  static constexpr const char* kWords = "fork_command";
  int execute(ChildContext& context) const noexcept;
};

struct NewSession {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "new_session";
  int execute(ChildContext& context) const noexcept;
};

// Of the session; the master is sent out.
struct OpenPty {
  Text path;
  std::uint16_t rows;
  std::uint16_t columns;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// The slave becomes 0, 1 and 2. A job is a group of its own, in the foreground; the session is
// PID 1's, which tells when the job is stopped.
struct TakePty {
  bool is_job;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct SetLimit {
  int resource;  // RLIMIT_*
  std::uint64_t soft;
  std::uint64_t hard;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// The command's, where the plan awaits it.
struct ChangeDir {
  Text path;
  static constexpr OrderRule kOrder = order::once_awaited;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct NoNewPrivs {
  static constexpr OrderRule kOrder = order::no_new_privs;
  static constexpr const char* kWords = "no_new_privs";
  int execute(ChildContext& context) const noexcept;
};

struct LandlockCreate {
  std::uint64_t files;  // rights that it handles
  std::uint64_t network;
  std::uint64_t scopes;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// With a file's id, it must be that one, and not behind a symlink.
struct LandlockAllow {
  Text path;
  std::uint64_t rights;
  FileId file;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Files that the command holds as its standard descriptors may be opened anew, through
// /proc/self/fd, as these were.
struct LandlockAllowHeld {
  std::uint64_t read;
  std::uint64_t write;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct LandlockRestrict {
  static constexpr OrderRule kOrder = order::restrict;
  static constexpr const char* kWords = "landlock_restrict";
  int execute(ChildContext& context) const noexcept;
};

struct DropCapabilities {
  static constexpr OrderRule kOrder = order::drop;
  static constexpr const char* kWords = "drop_capabilities";
  int execute(ChildContext& context) const noexcept;
};

struct CloseDescriptors {
  static constexpr OrderRule kOrder = order::close;
  static constexpr const char* kWords = "close_descriptors";
  int execute(ChildContext& context) const noexcept;
};

// The plan's filter.
struct Seccomp {
  bool notifies;  // by a listener, which is sent out
  bool may_send;  // the filter itself lets it be sent before the command runs
  // The limit of open files, which bounds what a user's processes together may have sent, and not
  // yet received: where it can be, it is set when the listener has gone. 0: it is set before.
  std::uint64_t open_files = 0;
  static constexpr OrderRule kOrder = order::filter;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Until the supervisor hands the command over (launch/handover.h).
struct AwaitCommand {
  static constexpr OrderRule kOrder = order::await;
  static constexpr const char* kWords = "await_command";
  int execute(ChildContext& context) const noexcept;
};

struct Execute {
  Text program;  // as it was named, where a message must say so
  static constexpr OrderRule kOrder = order::execute;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

}  // namespace op
}  // namespace sbx
