// SPDX-License-Identifier: Apache-2.0
// PlanBuilder: appends operations and their strings to a LaunchPlan. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "plan/plan.h"

namespace sbx {

class PlanBuilder {
 public:
  // As much as an ordinary plan needs: what grows is copied, and each page is paid for.
  PlanBuilder() {
    plan_.arena.reserve(std::size_t{16} << 10);
    plan_.ops.reserve(256);
  }

  std::uint32_t text(std::string_view value) {
    const auto offset = static_cast<std::uint32_t>(plan_.arena.size());
    plan_.arena.append(value);
    plan_.arena.push_back('\0');
    return offset;
  }

  // Appends an operation whose failure is the failure of `layer`.
  Op& add(OpKind kind, Layer layer) {
    Op& op = plan_.ops.emplace_back();
    op.kind = kind;
    op.layer = static_cast<std::uint8_t>(layer);
    return op;
  }
  // One that belongs to no layer: its failure is a set-up failure.
  Op& add(OpKind kind) {
    Op& op = plan_.ops.emplace_back();
    op.kind = kind;
    return op;
  }

  // For sources that only root can change, at a place that we made ourselves: half the system
  // calls.
  void bind_system(std::string_view source, std::string_view destination,
                   std::uint64_t attributes) {
    Op& op = add(OpKind::kBindSystem, Layer::kMount);
    op.a = text(destination);
    op.b = text(source);
    op.flags = attributes;
  }

  // `source` is opened without symlinks and must still be the same file.
  void bind(const Node& source, std::string_view destination, std::uint64_t attributes) {
    Op& op = add(OpKind::kBind, Layer::kMount);
    op.a = text(destination);
    op.b = text(source.path);
    op.dev = source.dev;
    op.ino = source.ino;
    op.flags = attributes;
  }

  void write_file(Layer layer, std::string_view path, std::string_view content) {
    Op& op = add(OpKind::kWriteFile, layer);
    op.a = text(path);
    op.b = text(content);
    op.b_size = static_cast<std::uint32_t>(content.size());
  }

  void confirm_last(Layer layer) { plan_.ops.back().confirms = static_cast<std::uint8_t>(layer); }

  LaunchPlan& plan() { return plan_; }

 private:
  LaunchPlan plan_;
};

// The mount view (view_ops.cc) and the Landlock rules (landlock_rules.cc), from one policy.
struct ViewOptions {
  bool bounds_pids = false;    // no rlimit and no cgroup holds limits.pids
  bool own_proc = true;        // a new procfs; else the host's, read-only
  bool nested_userns = false;  // /proc/PID stays writable, user namespaces may be made
  bool own_userns = true;      // else mounts propagate to the host unless made private
  bool own_ipc = true;         // message queues of its own
};
Status add_view(PlanBuilder& builder, const PlanInput& input, const ViewOptions& options);
void add_landlock(PlanBuilder& builder, const PlanInput& input, bool has_mount_view,
                  bool has_net_namespace, bool nested_userns);

// What the sandbox may take of its user's and the machine's (bounds.cc). `proc` is a procfs that
// can be written; the first needs a user namespace of its own, the second a pid namespace.
void add_user_bounds(PlanBuilder& builder, Layer layer, std::string_view proc);
void add_pid_bound(PlanBuilder& builder, const PlanInput& input, Layer layer,
                   std::string_view proc);
void add_ceilings(PlanBuilder& builder);

Error cwd_not_visible(const std::string& cwd);

// Whether the profile lets the command make namespaces of its own.
bool allows_nested_namespaces(const SandboxProfile& profile);

}  // namespace sbx
