// SPDX-License-Identifier: Apache-2.0
// LaunchPlan → text, one line a step: for golden files, `explain` and error messages. Pure.

#include <algorithm>

#include "base/format.h"
#include "plan/plan.h"
#include "sys/kernel.h"

namespace sbx {

const char* file_system_name(FileSystem type) {
  switch (type) {
    case FileSystem::kTmpfs:
      return "tmpfs";
    case FileSystem::kProc:
      return "proc";
    case FileSystem::kDevpts:
      return "devpts";
    case FileSystem::kMqueue:
      return "mqueue";
    case FileSystem::kOverlay:
      return "overlay";
  }
  return "";
}

std::string attributes_text(std::uint64_t attributes) {
  std::string out = (attributes & sys::kMountAttrReadOnly) != 0 ? "ro" : "rw";
  if ((attributes & sys::kMountAttrNosuid) != 0) out += ",nosuid";
  if ((attributes & sys::kMountAttrNodev) != 0) out += ",nodev";
  if ((attributes & sys::kMountAttrNoexec) != 0) out += ",noexec";
  return out;
}

std::string quoted_start(std::string_view content) {
  constexpr std::size_t kMost = 80;
  const std::string_view line = content.substr(0, std::min(content.find('\n'), kMost));
  return fmt::format("{:?}", std::string(line) + (line.size() < content.size() ? "…" : ""));
}

namespace {

const char* guard_name(GuardKind kind) {
  switch (kind) {
    case GuardKind::kCover:
      return "cover";
    case GuardKind::kBind:
      return "bind";
    case GuardKind::kFixed:
      return "fixed";
    case GuardKind::kNever:
      return "never";
  }
  return "";
}

}  // namespace

namespace op {

std::string WriteFile::describe(const LaunchPlan& plan) const {
  return fmt::format("write_file {} {}", plan.text(path), quoted_start(plan.text(content.text)));
}
std::string Mount::describe(const LaunchPlan& plan) const {
  const std::string_view with = plan.text(options);
  return fmt::format("mount_{} {}{}{}", file_system_name(type), plan.text(path),
                     with.empty() ? "" : " ", with);
}
std::string EnterRoot::describe(const LaunchPlan& plan) const {
  return fmt::format("enter_root {}", plan.text(path));
}
std::string MakeDir::describe(const LaunchPlan& plan) const {
  return fmt::format("make_dir {} {:04o}", plan.text(path), mode);
}
std::string MakeFile::describe(const LaunchPlan& plan) const {
  return fmt::format("make_file {} {}", plan.text(path), quoted_start(plan.text(content.text)));
}
std::string MakeLink::describe(const LaunchPlan& plan) const {
  return fmt::format("make_link {} -> {}", plan.text(path), plan.text(target));
}
std::string BindSystem::describe(const LaunchPlan& plan) const {
  return fmt::format("bind_system {} {} {}", plan.text(source), plan.text(path),
                     attributes_text(attributes));
}
std::string AttachMapped::describe(const LaunchPlan& plan) const {
  const MappedTree shown = tree < plan.mapped_trees.size() ? plan.mapped_trees[tree] : MappedTree();
  return fmt::format("attach_mapped {} {} {}", shown.source.path, plan.text(path),
                     attributes_text(shown.attributes));
}
std::string BindMask::describe(const LaunchPlan& plan) const {
  return fmt::format("bind_mask {} {}{}", plan.text(mask), plan.text(path),
                     is_link ? " (a symlink)" : "");
}
std::string Bind::describe(const LaunchPlan& plan) const {
  return fmt::format("bind {} {} {}", plan.text(source), plan.text(path),
                     attributes_text(attributes));
}
std::string BindInside::describe(const LaunchPlan& plan) const {
  return fmt::format("bind_inside {} {} {}", plan.text(source), plan.text(path),
                     attributes_text(attributes));
}
std::string MoveInside::describe(const LaunchPlan& plan) const {
  return fmt::format("move_inside {} {} {}", plan.text(source), plan.text(path),
                     attributes_text(attributes));
}
std::string SetAttributes::describe(const LaunchPlan& plan) const {
  return fmt::format("set_attributes {} {}", plan.text(path), attributes_text(attributes));
}
std::string ReportFd::describe(const LaunchPlan& plan) const {
  return fmt::format("report_fd {}", plan.text(path));
}
std::string SizeTmpfs::describe(const LaunchPlan& plan) const {
  return fmt::format("size_tmpfs {} {}", plan.text(path), free_bytes);
}
std::string Halve::describe(const LaunchPlan& plan) const {
  return fmt::format("halve {} <- {}", plan.text(path), plan.text(machine));
}
std::string TuneNetwork::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("tune_network{}{}", opens_low_ports ? " low_ports" : "",
                     answers_no_echo ? " no_echo" : "");
}
std::string SetHostname::describe(const LaunchPlan& plan) const {
  return fmt::format("set_hostname {}", plan.text(name));
}

std::string PrepareGuards::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("prepare_guards {}", static_cast<int>(replaced));
}
std::string Watch::describe(const LaunchPlan& plan) const {
  return fmt::format("watch {}", plan.text(path));
}
std::string Guard::describe(const LaunchPlan& plan) const {
  return fmt::format("guard {} {} {}{}", plan.text(path), guard_name(kind),
                     attributes_text(attributes),
                     (flags & kGuardStartsAbsent) != 0 ? " (absent)" : "");
}

std::string OpenPty::describe(const LaunchPlan& plan) const {
  return fmt::format("open_pty {}", plan.text(path));
}
std::string TakePty::describe(const LaunchPlan& /*plan*/) const {
  return is_job ? "take_pty job" : "take_pty";
}
std::string SetLimit::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("set_limit {} {} {}", resource, soft, hard);
}
std::string ChangeDir::describe(const LaunchPlan& plan) const {
  return fmt::format("change_dir {}", plan.text(path));
}
std::string LandlockCreate::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("landlock_create fs={:#x} net={:#x} scopes={:#x}", files, network, scopes);
}
std::string LandlockAllow::describe(const LaunchPlan& plan) const {
  return fmt::format("landlock_allow {} {:#x}", plan.text(path), rights);
}
std::string LandlockAllowHeld::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("landlock_allow_held {:#x} {:#x}", read, write);
}
std::string Seccomp::describe(const LaunchPlan& /*plan*/) const {
  std::string out = fmt::format("seccomp {}", notifies ? "notify" : "errno");
  if (open_files != 0) out += fmt::format(" files={}", open_files);
  return out;
}
std::string Execute::describe(const LaunchPlan& plan) const {
  return fmt::format("execute {}", plan.argv.empty() ? "" : plan.argv.front());
}

}  // namespace op

}  // namespace sbx
