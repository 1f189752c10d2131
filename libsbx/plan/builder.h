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
  // As much as an ordinary plan needs: what grows is copied, and each page is paid for. The arena
  // begins with the empty text.
  PlanBuilder() {
    plan_.arena.reserve(std::size_t{16} << 10);
    plan_.arena.push_back('\0');
    plan_.ops.reserve(256);
  }

  op::Text text(std::string_view value) {
    const auto offset = static_cast<std::uint32_t>(plan_.arena.size());
    plan_.arena.append(value);
    plan_.arena.push_back('\0');
    return {offset};
  }
  op::Content content(std::string_view value) {
    return {text(value), static_cast<std::uint32_t>(value.size())};
  }

  // Appends an operation whose failure is the failure of `layer`.
  template <Operation T>
  void add(const T& operation, Layer layer) {
    add(operation);
    plan_.ops.back().layer = static_cast<std::uint8_t>(layer);
  }
  // One that belongs to no layer: its failure is a set-up failure.
  template <Operation T>
  void add(const T& operation) {
    plan_.ops.emplace_back(operation);
  }

  // For sources that only root can change, at a place that we made ourselves: half the system
  // calls.
  void bind_system(std::string_view source, std::string_view destination,
                   std::uint64_t attributes) {
    add(op::BindSystem{text(source), text(destination), attributes}, Layer::kMount);
  }

  // `source` is opened without symlinks and must still be the same file.
  void bind(const Node& source, std::string_view destination, std::uint64_t attributes) {
    add(op::Bind{text(source.path), text(destination), attributes, {source.dev, source.ino}},
        Layer::kMount);
  }

  // The same, of a tree of `ids`.
  void attach_mapped(const Node& source, std::string_view destination, std::uint64_t attributes,
                     const IdMap& ids) {
    const auto number = static_cast<std::uint32_t>(plan_.mapped_trees.size());
    plan_.mapped_trees.push_back({source, attributes, ids});
    add(op::AttachMapped{text(destination), number}, Layer::kMount);
  }

  void lay(const LaidFile& file, std::string_view path) {
    if (file.content == nullptr) return add(op::MakeDir{text(path), file.mode});
    add(op::MakeFile{text(path), content(*file.content), file.mode});
  }

  void write_file(Layer layer, std::string_view path, std::string_view value) {
    add(op::WriteFile{text(path), content(value)}, layer);
  }

  void confirm_last(Layer layer) { plan_.ops.back().confirms = static_cast<std::uint8_t>(layer); }

  LaunchPlan& plan() { return plan_; }
  const LaunchPlan& plan() const { return plan_; }

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

// Warnings, and what the plan is weaker in than its policy asks for (degradations.cc).
void add_degradations(LaunchPlan& plan, const PlanInput& input);

Error cwd_not_visible(const std::string& cwd);

// Whether the profile lets the command make namespaces of its own.
bool allows_nested_namespaces(const SandboxProfile& profile);

}  // namespace sbx
