// SPDX-License-Identifier: Apache-2.0
// The operations that only bubblewrap's command line needs, beside those of plan/operations.h.
// "Inside" is a path below the new root while the old one is still at hand; it is opened by
// descriptor, with its symlinks resolved as the command will see them, so nothing inside leads a
// write or a mount out of the new root.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.h"

namespace sbx::bwrap {

// Everything "inside" lies below the first; the second is where PivotUnder leaves the old root,
// whose /proc gives mount(2) paths for descriptors.
inline constexpr const char* kNewRoot = "/newroot";
inline constexpr const char* kOldRoot = "/oldroot";

namespace op {

using namespace sbx::op;  // NOLINT(google-build-using-namespace): one name for all operations

// --- waits ---

// Until the launcher lets it go on: one byte over the control socket. Without the launcher, it
// ends.
struct AwaitGo {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "await_go";
  int execute(ChildContext& context) const noexcept;
};

// Until a byte of it, or its end, has been read.
struct AwaitFd {
  int fd;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Ends with the launcher, also with one that has ended already.
struct DieWithLauncher {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "die_with_launcher";
  int execute(ChildContext& context) const noexcept;
};

// --- users and capabilities ---

// Keeps a descriptor of /proc, for WriteProc after the pivot.
struct OpenProc {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "open_proc";
  int execute(ChildContext& context) const noexcept;
};

struct WriteProc {
  Text path;  // below /proc
  Content content;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct SetIds {
  std::uint32_t uid;
  std::uint32_t gid;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct JoinUser {
  int fd;  // a user namespace
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct UnshareUser {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "unshare_user";
  int execute(ChildContext& context) const noexcept;
};

// Fails with EEXIST where a user namespace can still be made.
struct RefuseUser {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "refuse_user";
  int execute(ChildContext& context) const noexcept;
};

struct BoundCapabilities {
  std::uint64_t kept;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// In every set, the ambient one too.
struct KeepCapabilities {
  std::uint64_t kept;
  bool only_ambient;  // all other sets stay as they are
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// --- roots ---

struct SlaveMounts {
  static constexpr OrderRule kOrder = order::before_pivot;
  static constexpr const char* kWords = "slave_mounts";
  int execute(ChildContext& context) const noexcept;
};

struct PivotUnder {
  Text path;  // the directory below the new root that takes the old one
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct Detach {
  Text path;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// --- files ---

// Directories that are missing above a path inside.
struct MakeParents {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A directory inside, made where none is.
struct NeedDir {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A file inside, made where none is.
struct NeedFile {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct LinkInside {
  Text path;
  Text target;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct ChmodInside {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Created or emptied, for CopyData.
struct OpenInside {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// Created anew outside, for CopyData.
struct OpenOutside {
  Text path;
  std::uint32_t mode;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct CopyData {
  Text path;  // where it goes, for a message
  int fd;     // read to its end
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct Unlink {
  Text path;  // outside
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// --- mounts ---

struct BindTo {
  Text source;               // outside
  Text path;                 // inside
  std::uint64_t attributes;  // MOUNT_ATTR_* set
  FileId file;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

struct MountTo {
  FileSystem type;
  Text path;  // inside
  Text options;
  std::uint64_t flags;  // MS_*
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A mount inside, without those below it.
struct SetInside {
  Text path;
  std::uint64_t attributes;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// What could be written in a procfs inside gets the attributes.
struct CoverProc {
  Text path;
  std::uint64_t attributes;
  static constexpr OrderRule kOrder = order::before_pivot;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// --- the command ---

// Read-locked as long as PID 1 lives.
struct LockFile {
  Text path;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// The first of them that can be entered is where the command starts.
struct TryDir {
  Text path;
  Text entry;           // PWD=path
  std::uint32_t place;  // of that entry in the environment
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

// A part of the plan's filter, loaded as one of its own.
struct SeccompProgram {
  std::uint32_t first;
  std::uint32_t count;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};

}  // namespace op
}  // namespace sbx::bwrap
