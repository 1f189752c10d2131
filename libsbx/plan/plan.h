// SPDX-License-Identifier: Apache-2.0
// LaunchPlan: an ordered list of trivially copyable operations and an arena of strings. The child
// only walks the list; everything is decided before the clone, so the plan can be printed,
// compared, fuzzed and checked for order. Built by make_plan, executed by launch/.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "host/facts.h"
#include "host/view.h"
#include "model/promise.h"
#include "plan/filter.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// What each operation does; the fields of Op that it reads are named behind it.
enum class OpKind : std::uint8_t {
  // --- in the new namespaces, with their capabilities ---
  kWriteFile,      // a: path, b: text: open(O_WRONLY), one write
  kPrivateMounts,  // takes every mount out of the host's propagation
  kMountTmpfs,     // a: destination, b: options, flags: MS_*
  kEnterRoot,      // a: destination: chdir to the new root
  kMakeDir,        // a: path, flags: mode
  kMakeFile,       // a: path, b: content, flags: mode: created anew
  kMakeLink,       // a: path, b: target
  kBindSystem,     // b: source that only root can change; a: destination on our own tmpfs; flags
  kBindMask,       // b: a mask inside the new root; a: a file that only root can change, flags: 1
                   // where it is a symlink, which is then covered itself
  kBind,           // b: source and its dev, ino; a: destination, flags: MOUNT_ATTR_* set
  kBindInside,     // b: source inside the new root, a: destination, flags: MOUNT_ATTR_* set
  kMoveInside,     // b: mount inside the new root, a: destination, flags: MOUNT_ATTR_* set
  kMountProc,      // a: destination, flags: MS_*
  kMountDevpts,    // a: destination, b: options, flags: MS_*
  kMountMqueue,    // a: destination, flags: MS_*; nothing where the kernel has no such queues
  kMountOverlay,   // a: destination, b: options, flags: MS_*
  kSetAttributes,  // a: path, flags: MOUNT_ATTR_* set, not recursive
  kReportFd,       // a: path inside the new root, slot: ReportTag: opened and sent out
  kPivot,          // pivot_root(".", "."), detach the old root, chdir("/")
  kLoopbackUp,
  kTuneNetwork,   // flags: TuneFlag: settings of the network namespace, where they can be written
  kLocalRoutes,   // every address of both families is local: 0.0.0.0/0 and ::/0
  kListenForDns,  // UDP and TCP port 53 of every address, sent out
  kSetHostname,   // a: name
  kNotDumpable,
  kDieWithParent,
  kForkCommand,  // the rest happens in the command's own process
  // --- in the process that becomes the command ---
  kNewSession,
  kOpenPty,    // a: ptmx, dev: rows, ino: columns: master sent out, slave becomes 0, 1, 2
  kSetLimit,   // slot: RLIMIT_*, dev: soft, ino: hard
  kChangeDir,  // a: path
  kNoNewPrivs,
  kLandlockCreate,  // dev: file rights, ino: network rights, flags: scopes
  kLandlockAllow,   // a: path, flags: rights; dev, ino: it must be that one, not behind a symlink
  kLandlockRestrict,
  kDropCapabilities,
  kCloseDescriptors,
  kSeccomp,       // the plan's filter; flags: 1 with a listener that is sent out
  kAwaitCommand,  // until the supervisor hands the command over (launch/handover.h)
  // --- what bubblewrap's command line needs besides (launch/inside.h); "inside" names a path that
  // --- is resolved below kNewRoot and never leads out of it
  kAwaitGo,    // until the supervisor lets it go on: one byte over the control socket
  kAwaitFd,    // slot: until a byte of it, or its end, has been read
  kOpenProc,   // keeps a descriptor of /proc, for kWriteProc after the pivot
  kWriteProc,  // a: path below /proc, b: text
  kSetIds,     // dev: uid, ino: gid
  kJoinUser,   // slot: a user namespace
  kUnshareUser,
  kRefuseUser,  // fails with EEXIST where a user namespace can still be made
  kSlaveMounts,
  kPivotUnder,   // a: directory below the new root that takes the old one
  kDetach,       // a: mount
  kMakeParents,  // a: path inside, flags: mode: directories that are missing above it
  kNeedDir,      // a: path inside, flags: mode: a directory, made where none is
  kNeedFile,     // a: path inside, flags: mode: a file, made where none is
  kLinkInside,   // a: path inside, b: target
  kChmodInside,  // a: path inside, flags: mode
  kOpenInside,   // a: path inside, flags: mode: created or emptied, for kCopyData
  kOpenOutside,  // a: path outside, flags: mode: created anew, for kCopyData
  kCopyData,     // slot: a descriptor that is read to its end
  kUnlink,       // a: path outside
  kBindTo,       // b: source outside and its dev, ino; a: path inside, flags: MOUNT_ATTR_* set
  kMountTo,      // slot: FileSystem, a: path inside, b: options, flags: MS_*
  kSetInside,    // a: mount inside, flags: MOUNT_ATTR_* set, not recursive
  kCoverProc,    // a: procfs inside, flags: MOUNT_ATTR_*: what could be written there
  kBoundCapabilities,  // dev: the bounding set that stays
  kKeepCapabilities,  // dev: the sets that stay, ambient too; flags: 1 leaves all but ambient alone
  kLockFile,          // a: path, read-locked as long as PID 1 lives
  kTryDir,            // a: path, b: PWD=path, slot: its place in the environment
  kSeccompProgram,    // dev: first instruction in the plan's filter, ino: how many
  // --- placements that the host can uncover (launch/guards.h) ---
  kPrepareGuards,  // slot: ReplacedMode
  kWatch,          // a: directory, flags: 1 where only denied programs depend on it
  kGuard,          // a: path inside, slot: GuardKind, flags: MOUNT_ATTR_* set, dev: GuardFlag
  kCheckGuards,    // none of them has been uncovered since
  // --- limits
  kSizeTmpfs,  // a: our tmpfs, flags: MS_*, ino: bytes that are free in it from now on
  kHalve,      // a: setting of a namespace that gets half of the machine's, b; neither must exist
  kExecute,
};
const char* op_name(OpKind kind);

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
  kSocketDiag,  // lists the sockets of the network namespace
};

enum TuneFlag : std::uint64_t {
  kTuneLowPorts = 1,  // ports below 1024 need no capability
  kTuneNoEcho = 2,    // no answer to ping, where every address is local
};

// Where kPivotUnder's users build their root: everything "inside" lies below it.
inline constexpr const char* kNewRoot = "/newroot";
enum class FileSystem : std::uint8_t { kTmpfs, kProc, kDevpts, kMqueue, kOverlay };

// How a placement that was lost is put back.
enum class GuardKind : std::uint8_t {
  kCover,  // by an empty file or directory
  kBind,   // by what is there, bound over itself
  kFixed,  // not at all
};
enum GuardFlag : std::uint64_t {
  kGuardMayVanish = 1,     // where nothing is, nothing has to be covered
  kGuardStartsAbsent = 2,  // nothing is there yet
  kGuardLink = 4,          // a symlink is covered as such
  kGuardSystem = 8,        // a denied program
  kGuardQuiet = 16,        // only holds the place of another
};

inline constexpr std::uint8_t kNoLayer = 0xff;

struct Op {
  OpKind kind = OpKind::kExecute;
  std::uint8_t layer = kNoLayer;     // the layer that fails when this step fails
  std::uint8_t confirms = kNoLayer;  // the layer that is in force once this step is done
  std::int32_t slot = -1;            // a resource or a ReportTag
  std::uint32_t a = 0;               // offsets into the arena
  std::uint32_t b = 0;
  std::uint32_t b_size = 0;
  std::uint64_t flags = 0;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
};
static_assert(std::is_trivially_copyable_v<Op>);

struct LaunchPlan {
  std::uint64_t clone_flags = 0;  // CLONE_NEW* of the namespaces
  std::vector<Op> ops;
  std::string arena;  // NUL-terminated strings
  std::vector<sock_filter> filter;
  bool filter_notifies = false;
  bool mediates_connect = false;             // the filter hands connect to the supervisor
  std::optional<OwnIds> own_ids;             // the only ones that the filter lets files be given to
  std::vector<int> reported_calls;           // whose notifications are answered with "continue"
  std::vector<std::string> denied_programs;  // masked, or not executable under Landlock
  bool has_pid_namespace = false;
  bool use_pty = false;
  bool awaits_command = false;  // argv, environment, executables and cwd come later
  // As bubblewrap: descriptors, umask and signals of the caller pass to the command, PID 1 stays
  // until nothing is left inside, nobody watches from outside.
  bool passes_through = false;
  int sync_fd = -1;           // kept open by PID 1
  bool shows_limits = false;  // in /sys/fs/cgroup
  bool shows_queues = false;  // in /dev/mqueue

  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<std::string> executables;  // paths to try in turn

  // What is promised, for explain and for the answer.
  LayerSet wanted;
  int landlock_abi = 0;
  int filter_allowed = 0;
  int filter_refused = 0;
  int filter_checked = 0;
  std::vector<LimitReport> limits;
  std::vector<Degradation> degraded;
  std::vector<std::string> warnings;
  std::vector<ViewProtect> report_created;  // named in denials if they exist afterwards
  std::vector<std::string> stubs;  // missing protected paths, held by a stub during the run
  std::string cwd;
  std::string home;
  // The visible paths and how they are shown, for explain: path → "rw" | "ro" | "none" | …
  std::vector<std::pair<std::string, std::string>> shown;
  // With overlay: host directory and its ReportTag::kOverlay index order.
  std::vector<std::string> overlays;

  const char* text(std::uint32_t offset) const { return arena.data() + offset; }
};

struct PlanInput {
  const Policy& policy;
  const Request& request;
  const HostFacts& facts;
  const View& view;
  Environment environment;  // of the command
  bool use_pty = false;
  unsigned pty_rows = 24;
  unsigned pty_columns = 80;
  bool awaits_command = false;
  bool report_execs = false;  // that reach a denied program
};

// Pure. Errors: kCwdNotVisible, kLayerUnavailable, kBadValue for system call names.
Result<LaunchPlan> make_plan(const PlanInput& input);

// The command's part of a plan: argv, environment, executables, cwd. For a plan that awaits it,
// `input` may hold another request and environment than the plan was made with. Pure.
// Errors: kNotFound when no program is named.
Status set_command(LaunchPlan& plan, const PlanInput& input);

// The order rules that every plan keeps: nothing is mounted after the pivot, capabilities go after
// the last mount, no_new_privs before Landlock and the filter, the filter last before exec; the
// clone makes every namespace in `wanted`, and a step confirms every other layer. Error: kInternal
// naming the step.
Status check_plan(const LaunchPlan& plan);

// CLONE_NEW* of one of the seven namespaces; 0 for other layers.
std::uint64_t namespace_flag(Layer layer);

// One line a step, for people, golden files and error messages.
std::string describe_op(const LaunchPlan& plan, const Op& op);
std::string dump_plan(const LaunchPlan& plan);

}  // namespace sbx
