// SPDX-License-Identifier: Apache-2.0
// The made-up machine.
#include "plan/sample_plan.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "json/reader.h"
#include "profile/decode.h"
#include "profile/store.h"
#include "sys/kernel.h"

namespace sbx::testing {
namespace {

NodeKind made_up_kind(const std::string& path) {
  return path.ends_with(".txt") ? NodeKind::kFile : NodeKind::kDirectory;
}

Node node(const std::string& path, NodeKind kind) {
  static constexpr std::uint64_t kDevice = 42;
  // Numbers that depend on the path alone: golden files must not change with the order of calls.
  std::uint64_t ino = 7;
  for (const char c : path) ino = ino * 31 + static_cast<unsigned char>(c);
  return {path, kind, kDevice, 1 + ino % 1'000'000};
}
Node directory(const std::string& path) { return node(path, NodeKind::kDirectory); }

void add_protects(const Policy& policy, View& view) {
  for (const ViewRoot& root : view.roots) {
    if (root.access != Access::kReadWrite || root.node.kind != NodeKind::kDirectory) continue;
    for (const Protect& protect : policy.sandbox.filesystem.protect) {
      ViewProtect found;
      found.root = root.node.path;
      found.report_missing = protect.missing == Missing::kReport;
      const std::string prefix = root.node.path == "/" ? "" : root.node.path;
      for (std::size_t at = protect.path.find('/'); at != std::string::npos;
           at = protect.path.find('/', at + 1)) {
        found.parents.push_back(directory(prefix + "/" + protect.path.substr(0, at)));
      }
      const bool exists = protect.path == ".git/hooks";
      found.node =
          node(prefix + "/" + protect.path, exists ? NodeKind::kDirectory : NodeKind::kMissing);
      view.protects.push_back(std::move(found));
    }
  }
}

// Directories above something narrower, each with a few entries: what a look at the host would
// list for Landlock without mounts.
void add_listings(View& view) {
  const auto list = [&](const std::string& path) {
    const std::string prefix = path == "/" ? "/" : path + "/";
    std::vector<Node> entries = {directory(prefix + "aside"),
                                 node(prefix + "note.txt", NodeKind::kFile)};
    const auto add_leading_to = [&](const std::string& target) {
      if (target == path || !is_below(target, path)) return;
      const std::string entry = target.substr(0, target.find('/', prefix.size()));
      for (const Node& known : entries) {
        if (known.path == entry) return;
      }
      entries.push_back(node(entry, made_up_kind(entry)));
    };
    for (const ViewRoot& root : view.roots) add_leading_to(root.node.path);
    for (const ViewProtect& protect : view.protects) {
      if (protect.node.kind != NodeKind::kMissing) add_leading_to(protect.node.path);
    }
    view.listings.emplace(path, std::move(entries));
  };
  const auto list_down_to = [&](const std::string& path) {
    list("/");
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
      list(path.substr(0, at));
    }
  };
  for (const ViewRoot& root : view.roots) list_down_to(root.node.path);
  for (const ViewProtect& protect : view.protects) list_down_to(protect.node.path);
}

Sample sample(Profile profile) {
  Result<Sample> made = sample_of(std::move(profile));
  if (!made.ok()) throw std::runtime_error(error_line(made.error()));
  return std::move(made).value();
}

}  // namespace

HostFacts full_facts() {
  HostFacts facts;
  facts.uid = 1000;
  facts.gid = 1000;
  facts.user_name = "user";
  facts.group_name = "user";
  facts.home = "/home/user";
  facts.landlock_abi = 7;
  facts.kernel_release = "6.18.0";
  facts.architecture = "x86_64";
  return facts;
}

void take_namespaces(HostFacts& facts) {
  for (const Layer layer : {Layer::kUser, Layer::kMount, Layer::kPid, Layer::kNet, Layer::kIpc,
                            Layer::kUts, Layer::kCgroup}) {
    facts.obstacles[static_cast<std::size_t>(layer)] = {
        "clone(CLONE_NEWUSER): EPERM", "sysctl -w kernel.unprivileged_userns_clone=1", 1};
  }
  facts.proc_mountable = false;
  facts.overlay_on_tmpfs = false;
}

View made_up_view(const Policy& policy) {
  View view;
  const FilesystemProfile& filesystem = policy.sandbox.filesystem;
  if (filesystem.base == Base::kSystem) {
    view.system = {directory("/usr")};
    view.system_links = {{"/bin", "usr/bin"}, {"/lib", "usr/lib"}, {"/lib64", "usr/lib64"}};
  }
  if (filesystem.base == Base::kTools) {
    view.tools = {node("/usr/bin/bash", NodeKind::kFile),
                  node("/usr/lib/libc.so.6", NodeKind::kFile), directory("/usr/share/zoneinfo")};
    view.tool_links = {{"/bin", "usr/bin"}, {"/lib64/ld.so", "../usr/lib/ld.so"}};
  }
  if (filesystem.base == Base::kSystem || filesystem.base == Base::kTools) {
    view.etc = directory("/etc");
    view.etc_own = {node("/etc/passwd", NodeKind::kFile),
                    node("/etc/resolv.conf", NodeKind::kLink)};
    view.etc_private = {node("/etc/shadow", NodeKind::kFile), directory("/etc/ssl/private")};
    view.listings["/etc"] = {node("/etc/services", NodeKind::kFile),
                             node("/etc/shadow", NodeKind::kFile), directory("/etc/ssl")};
    view.listings["/etc/ssl"] = {directory("/etc/ssl/certs"), directory("/etc/ssl/private")};
  }
  bool has_host_root = filesystem.base == Base::kHost;
  for (const Root& root : filesystem.roots) {
    view.roots.push_back(
        {node(root.path, made_up_kind(root.path)), root.access, root.where, root.noexec});
    has_host_root = has_host_root || root.path == "/";
  }
  if (has_host_root) view.host_masks = {directory("/run"), directory("/sys")};
  add_protects(policy, view);
  for (const char* path :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}) {
    view.devices.push_back(node(path, NodeKind::kDevice));
  }
  for (const std::string& path : filesystem.devices) {
    view.devices.push_back(node(path, NodeKind::kDevice));
  }
  view.proc_masks = {"keys"};
  view.staging = "/mnt";
  if (!policy.sandbox.home.empty()) view.home = directory(policy.sandbox.home);
  add_listings(view);
  return view;
}

Result<Sample> sample_of(Profile profile) {
  Sample out;
  SBX_TRY(out.policy, make_policy(profile, {}, {kWorkspace, "/home/user"}));
  out.profile = std::move(profile);
  out.request.command = "true";
  out.facts = full_facts();
  out.view = made_up_view(out.policy);
  out.environment = make_environment(out.policy, {{"PATH", "/usr/bin:/bin"}}, "user");
  return out;
}

Sample shipped_sample(std::string_view profile) {
  Result<LoadedProfile> loaded = load_profile(profile, {});
  if (!loaded.ok()) throw std::runtime_error(error_line(loaded.error()));
  return sample(std::move(loaded).value().profile);
}

Sample written_sample(const std::string& keys) {
  Profile profile = load_profile("default", {}).value().profile;
  const auto child = read_json_strict(R"({"name": "written", )" + keys + "}");
  if (!child.ok()) throw std::runtime_error(error_line(child.error()));
  const auto errors = apply_document(child.value(), profile);
  if (!errors.empty()) throw std::runtime_error(error_line(errors.front()));
  settle(profile);
  return sample(std::move(profile));
}

void apply_flags(Sample& sample, const OperatorFlags& flags) {
  Result<Policy> policy = make_policy(sample.profile, flags, {kWorkspace, "/home/user"});
  if (!policy.ok()) throw std::runtime_error(error_line(policy.error()));
  sample.policy = std::move(policy).value();
  sample.view = made_up_view(sample.policy);
}

namespace {

template <Operation... T>
const Op* one_at(const LaunchPlan& plan, std::string_view destination) {
  for (const Op& op : plan.ops) {
    const auto is_there = [&](const auto* step) {
      return step != nullptr && plan.text(step->path) == destination;
    };
    if ((is_there(op.as<T>()) || ...)) return &op;
  }
  return nullptr;
}

}  // namespace

const Op* step_at(const LaunchPlan& plan, std::string_view destination) {
  return one_at<op::BindSystem, op::AttachMapped, op::Bind, op::BindMask, op::BindInside,
                op::MoveInside, op::Mount>(plan, destination);
}

namespace {

template <Operation... T>
bool any_read_only(const Op& op) {
  const auto is_it = [](const auto* step) {
    return step != nullptr && (step->attributes & sys::kMountAttrReadOnly) != 0;
  };
  return (is_it(op.as<T>()) || ...);
}

}  // namespace

bool is_read_only(const Op* step) {
  return step != nullptr &&
         any_read_only<op::BindSystem, op::Bind, op::BindInside, op::MoveInside>(*step);
}

std::string limit_enforcer(const LaunchPlan& plan, std::string_view limit) {
  for (const LimitReport& report : plan.limits) {
    if (limit_name(report.limit) == limit) return std::string(enforcer_name(report.enforcer));
  }
  return "";
}

std::string reasons_of(const LaunchPlan& plan, std::string_view what) {
  std::string out;
  for (const Degradation& degradation : plan.degraded) {
    if (degradation.what == what) out += degradation.reason + "\n";
  }
  return out;
}

bool is_degraded(const LaunchPlan& plan, std::string_view what) {
  return !reasons_of(plan, what).empty();
}

}  // namespace sbx::testing
