// SPDX-License-Identifier: Apache-2.0
// LaunchPlan → text, one line a step: for golden files, `explain` and error messages. Pure.
#include <fmt/format.h>

#include <array>

#include "plan/plan.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

constexpr std::array<const char*, 75> kNames = {"write_file",
                                                "private_mounts",
                                                "mount_tmpfs",
                                                "enter_root",
                                                "make_dir",
                                                "make_file",
                                                "make_link",
                                                "bind_system",
                                                "bind_mask",
                                                "bind",
                                                "bind_inside",
                                                "move_inside",
                                                "mount_proc",
                                                "mount_devpts",
                                                "mount_mqueue",
                                                "mount_overlay",
                                                "set_attributes",
                                                "report_fd",
                                                "pivot",
                                                "loopback_up",
                                                "tune_network",
                                                "local_routes",
                                                "listen_for_dns",
                                                "set_hostname",
                                                "not_dumpable",
                                                "die_with_parent",
                                                "fork_command",
                                                "new_session",
                                                "open_pty",
                                                "set_limit",
                                                "change_dir",
                                                "no_new_privs",
                                                "landlock_create",
                                                "landlock_allow",
                                                "landlock_restrict",
                                                "drop_capabilities",
                                                "close_descriptors",
                                                "seccomp",
                                                "await_command",
                                                "await_go",
                                                "await_fd",
                                                "open_proc",
                                                "write_proc",
                                                "set_ids",
                                                "join_user",
                                                "unshare_user",
                                                "refuse_user",
                                                "slave_mounts",
                                                "pivot_under",
                                                "detach",
                                                "make_parents",
                                                "need_dir",
                                                "need_file",
                                                "link_inside",
                                                "chmod_inside",
                                                "open_inside",
                                                "open_outside",
                                                "copy_data",
                                                "unlink",
                                                "bind_to",
                                                "mount_to",
                                                "set_inside",
                                                "cover_proc",
                                                "bound_capabilities",
                                                "keep_capabilities",
                                                "lock_file",
                                                "try_dir",
                                                "seccomp_program",
                                                "prepare_guards",
                                                "watch",
                                                "guard",
                                                "check_guards",
                                                "size_tmpfs",
                                                "halve",
                                                "execute"};
static_assert(static_cast<std::size_t>(OpKind::kExecute) + 1 == kNames.size());

std::string attributes_text(std::uint64_t flags) {
  std::string out = (flags & sys::kMountAttrReadOnly) != 0 ? "ro" : "rw";
  if ((flags & sys::kMountAttrNosuid) != 0) out += ",nosuid";
  if ((flags & sys::kMountAttrNodev) != 0) out += ",nodev";
  if ((flags & sys::kMountAttrNoexec) != 0) out += ",noexec";
  return out;
}

const char* guard_name(int kind) {
  switch (static_cast<GuardKind>(kind)) {
    case GuardKind::kCover:
      return "cover";
    case GuardKind::kBind:
      return "bind";
    case GuardKind::kFixed:
      return "fixed";
  }
  return "";
}

std::string first_line(std::string_view text) {
  std::string out(text.substr(0, text.find('\n')));
  return out.size() < text.size() ? out + "…" : out;
}

}  // namespace

const char* op_name(OpKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string describe_op(const LaunchPlan& plan, const Op& op) {
  const auto a = [&] { return plan.text(op.a); };
  const auto b = [&] { return plan.text(op.b); };
  const char* name = op_name(op.kind);
  switch (op.kind) {
    case OpKind::kWriteFile:
    case OpKind::kMakeFile:
    case OpKind::kWriteProc:
      return fmt::format("{} {} {:?}", name, a(), first_line(b()));
    case OpKind::kMakeDir:
    case OpKind::kMakeParents:
    case OpKind::kNeedDir:
    case OpKind::kNeedFile:
    case OpKind::kChmodInside:
    case OpKind::kOpenInside:
    case OpKind::kOpenOutside:
      return fmt::format("{} {} {:04o}", name, a(), op.flags);
    case OpKind::kHalve:
      return fmt::format("{} {} <- {}", name, a(), b());
    case OpKind::kSizeTmpfs:
      return fmt::format("{} {} {}", name, a(), op.ino);
    case OpKind::kMakeLink:
    case OpKind::kLinkInside:
      return fmt::format("{} {} -> {}", name, a(), b());
    case OpKind::kBindSystem:
    case OpKind::kBind:
    case OpKind::kBindInside:
    case OpKind::kMoveInside:
    case OpKind::kBindTo:
      return fmt::format("{} {} {} {}", name, b(), a(), attributes_text(op.flags));
    case OpKind::kSetAttributes:
    case OpKind::kSetInside:
    case OpKind::kCoverProc:
      return fmt::format("{} {} {}", name, a(), attributes_text(op.flags));
    case OpKind::kBindMask:
      return fmt::format("{} {} {}{}", name, b(), a(), op.flags != 0 ? " (a symlink)" : "");
    case OpKind::kMountTmpfs:
    case OpKind::kMountDevpts:
    case OpKind::kMountOverlay:
    case OpKind::kMountTo:
      return fmt::format("{} {} {}", name, a(), b());
    case OpKind::kMountProc:
    case OpKind::kMountMqueue:
    case OpKind::kEnterRoot:
    case OpKind::kSetHostname:
    case OpKind::kChangeDir:
    case OpKind::kReportFd:
    case OpKind::kOpenPty:
    case OpKind::kPivotUnder:
    case OpKind::kDetach:
    case OpKind::kUnlink:
    case OpKind::kLockFile:
    case OpKind::kTryDir:
    case OpKind::kWatch:
      return fmt::format("{} {}", name, a());
    case OpKind::kGuard:
      return fmt::format("{} {} {} {}{}", name, a(), guard_name(op.slot), attributes_text(op.flags),
                         (op.dev & kGuardStartsAbsent) != 0 ? " (absent)" : "");
    case OpKind::kPrepareGuards:
    case OpKind::kAwaitFd:
    case OpKind::kJoinUser:
    case OpKind::kCopyData:
      return fmt::format("{} {}", name, op.slot);
    case OpKind::kSetIds:
    case OpKind::kSeccompProgram:
      return fmt::format("{} {} {}", name, op.dev, op.ino);
    case OpKind::kBoundCapabilities:
    case OpKind::kKeepCapabilities:
      return fmt::format("{} {:#x}", name, op.dev);
    case OpKind::kSetLimit:
      return fmt::format("{} {} {} {}", name, op.slot, op.dev, op.ino);
    case OpKind::kLandlockCreate:
      return fmt::format("{} fs={:#x} net={:#x} scopes={:#x}", name, op.dev, op.ino, op.flags);
    case OpKind::kLandlockAllow:
      return fmt::format("{} {} {:#x}", name, a(), op.flags);
    case OpKind::kTuneNetwork:
      return fmt::format("{}{}{}", name, (op.flags & kTuneLowPorts) != 0 ? " low_ports" : "",
                         (op.flags & kTuneNoEcho) != 0 ? " no_echo" : "");
    case OpKind::kSeccomp:
      return fmt::format("{} {}", name, op.flags != 0 ? "notify" : "errno");
    case OpKind::kExecute:
      return fmt::format("{} {}", name, plan.argv.empty() ? "" : plan.argv.front());
    default:
      return name;
  }
}

std::string dump_plan(const LaunchPlan& plan) {
  std::string out = fmt::format("clone {:#x}\n", plan.clone_flags);
  for (const Op& op : plan.ops) {
    out += describe_op(plan, op);
    if (op.confirms != kNoLayer) {
      out += fmt::format("  [{}]", layer_name(static_cast<Layer>(op.confirms)));
    }
    out += '\n';
  }
  return out;
}

}  // namespace sbx
