// SPDX-License-Identifier: Apache-2.0
// bubblewrap's own operations → one line each. Pure.

#include "base/format.h"
#include "bwrap/operations.h"

namespace sbx::bwrap::op {
namespace {

std::string with_mode(const char* name, const char* path, std::uint32_t mode) {
  return fmt::format("{} {} {:04o}", name, path, mode);
}

}  // namespace

std::string AwaitFd::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("await_fd {}", fd);
}
std::string WriteProc::describe(const LaunchPlan& plan) const {
  return fmt::format("write_proc {} {}", plan.text(path), quoted_start(plan.text(content.text)));
}
std::string SetIds::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("set_ids {} {}", uid, gid);
}
std::string JoinUser::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("join_user {}", fd);
}
std::string BoundCapabilities::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("bound_capabilities {:#x}", kept);
}
std::string KeepCapabilities::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("keep_capabilities {:#x}", kept);
}
std::string PivotUnder::describe(const LaunchPlan& plan) const {
  return fmt::format("pivot_under {}", plan.text(path));
}
std::string Detach::describe(const LaunchPlan& plan) const {
  return fmt::format("detach {}", plan.text(path));
}
std::string MakeParents::describe(const LaunchPlan& plan) const {
  return with_mode("make_parents", plan.text(path), mode);
}
std::string NeedDir::describe(const LaunchPlan& plan) const {
  return with_mode("need_dir", plan.text(path), mode);
}
std::string NeedFile::describe(const LaunchPlan& plan) const {
  return with_mode("need_file", plan.text(path), mode);
}
std::string LinkInside::describe(const LaunchPlan& plan) const {
  return fmt::format("link_inside {} -> {}", plan.text(path), plan.text(target));
}
std::string ChmodInside::describe(const LaunchPlan& plan) const {
  return with_mode("chmod_inside", plan.text(path), mode);
}
std::string OpenInside::describe(const LaunchPlan& plan) const {
  return with_mode("open_inside", plan.text(path), mode);
}
std::string OpenOutside::describe(const LaunchPlan& plan) const {
  return with_mode("open_outside", plan.text(path), mode);
}
std::string CopyData::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("copy_data {}", fd);
}
std::string Unlink::describe(const LaunchPlan& plan) const {
  return fmt::format("unlink {}", plan.text(path));
}
std::string BindTo::describe(const LaunchPlan& plan) const {
  return fmt::format("bind_to {} {} {}", plan.text(source), plan.text(path),
                     attributes_text(attributes));
}
std::string MountTo::describe(const LaunchPlan& plan) const {
  return fmt::format("mount_to {} {}", plan.text(path), plan.text(options));
}
std::string SetInside::describe(const LaunchPlan& plan) const {
  return fmt::format("set_inside {} {}", plan.text(path), attributes_text(attributes));
}
std::string CoverProc::describe(const LaunchPlan& plan) const {
  return fmt::format("cover_proc {} {}", plan.text(path), attributes_text(attributes));
}
std::string LockFile::describe(const LaunchPlan& plan) const {
  return fmt::format("lock_file {}", plan.text(path));
}
std::string TryDir::describe(const LaunchPlan& plan) const {
  return fmt::format("try_dir {}", plan.text(path));
}
std::string SeccompProgram::describe(const LaunchPlan& /*plan*/) const {
  return fmt::format("seccomp_program {} {}", first, count);
}

}  // namespace sbx::bwrap::op
