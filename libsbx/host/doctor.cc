// SPDX-License-Identifier: Apache-2.0
// HostFacts → a table for people and a document for programs. Pure but for
// AppArmor's sysctl, which no fact of HostFacts holds.
#include "host/doctor.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/text.h"
#include "host/obstacles.h"
#include "host/surroundings.h"

namespace sbx {
namespace {

using Json = nlohmann::ordered_json;

struct LayerText {
  Layer layer;
  const char* gives;
};
constexpr std::array<LayerText, kLayerCount> kLayers = {{
    {Layer::kUser, "namespaces without root; capabilities that end at the sandbox"},
    {Layer::kMount, "only the allowed roots exist"},
    {Layer::kPid, "other processes unseen; everything dies together"},
    {Layer::kNet, "no network but what the policy allows"},
    {Layer::kIpc, "System V and POSIX queues of its own"},
    {Layer::kUts, "a host name of its own"},
    {Layer::kCgroup, "the cgroup tree unseen"},
    {Layer::kSeccomp, "dangerous system calls refused"},
    {Layer::kLandlock, "file, TCP and signal rules under everything else"},
    {Layer::kNoNewPrivs, "set-uid programs gain nothing"},
    {Layer::kCapabilities, "every capability dropped"},
}};

struct AbiText {
  int since;
  const char* covers;
};
constexpr AbiText kLandlockCovers[] = {
    {1, "reading, writing, executing, making and removing files"},
    {2, "renaming and linking between directories"},
    {3, "truncating files"},
    {4, "TCP bind and connect by port"},
    {5, "ioctl on devices"},
    {6, "abstract Unix sockets and signals to the outside"},
    {7, "denials in the kernel's audit log"},
    {9, "pathname Unix sockets"},
    {10, "UDP bind, connect and send by port"},
};
// What no ABI up to 11 covers: the mount namespace and the filter do.
constexpr const char* kNeverCovered[] = {
    "stat, access, chmod, chown, xattr and utime",
    "raw sockets",
};

std::vector<std::string> landlock_list(int abi, bool covered) {
  std::vector<std::string> list;
  for (const AbiText& text : kLandlockCovers) {
    if ((abi >= text.since) != covered) continue;
    list.push_back(covered ? text.covers : fmt::format("{} (ABI {})", text.covers, text.since));
  }
  if (!covered) list.insert(list.end(), std::begin(kNeverCovered), std::end(kNeverCovered));
  return list;
}

struct LimitText {
  std::string name;
  std::string enforcer;
};

// Those of any run: a layer's is for runs that have one.
std::vector<LimitText> limits_of(const HostFacts& facts) {
  std::vector<LimitText> out;
  for (const LimitRow& row : kLimits) {
    if (row.limit == Limit::kLayer) continue;
    const Enforcer enforcer =
        limit_enforcer(row.limit, facts, !facts.obstacle(Layer::kUser).present(),
                       !facts.obstacle(Layer::kMount).present());
    out.push_back({std::string(row.name), std::string(enforcer_name(enforcer))});
  }
  return out;
}

constexpr const char* kCgroupHint =
    "sbx-run --scope … where systemd runs (or run sbx-run as a service with Delegate=yes)";
Obstacle obstacle_of(Layer layer, const HostFacts& facts) {
  const Obstacle& own = facts.obstacle(layer);
  return layer == Layer::kPid && !own.present() ? proc_obstacle(facts) : own;
}

// It wants every layer, and its `fallback` is `refuse`: what it requires is not all that it needs.
bool default_profile_runs(const HostFacts& facts) {
  return std::none_of(kLayers.begin(), kLayers.end(), [&](const LayerText& layer) {
    return obstacle_of(layer.layer, facts).present();
  });
}

bool can_mount_proc(const HostFacts& facts) {
  return facts.proc_mountable && !facts.obstacle(Layer::kMount).present() &&
         !facts.obstacle(Layer::kPid).present();
}

std::string detail_of(Layer layer, const HostFacts& facts) {
  switch (layer) {
    case Layer::kLandlock:
      return facts.landlock_abi > 0 ? fmt::format("ABI {}", facts.landlock_abi) : "";
    case Layer::kSeccomp:
      return facts.seccomp_notify
                 ? "filter and notifications"
                 : "filter; no notifications (no listener can be had, as where one "
                   "is above), so refused calls are not listed in `denials`";
    case Layer::kPid:
      return proc_obstacle(facts).present() ? "a namespace, but no /proc of its own" : "";
    case Layer::kUser:
      return facts.clone3 ? "" : "clone3 is hidden, clone serves";
    default:
      return "";
  }
}

void append_line(std::string& text, std::string_view line) {
  text += line;
  text += '\n';
}

void append_obstacle(std::string& text, const Obstacle& obstacle) {
  append_line(text, fmt::format("{:15}why:  {}", "", obstacle.reason));
  if (!obstacle.hint.empty()) append_line(text, fmt::format("{:15}mend: {}", "", obstacle.hint));
}

void append_managed(std::string& text, const Result<Managed>& managed) {
  if (!managed.ok()) {
    append_line(text, "Managed policy   NOTHING RUNS: " + managed.error().message);
    append_line(text, fmt::format("{:15}mend: {}", "", managed.error().hint));
    return;
  }
  for (const ManagedFile& file : managed.value()) {
    append_line(text, fmt::format("Managed policy   {} (sha256 {}) {}", file.mark.path,
                                  file.mark.sha256, file.name));
  }
}

void append_layers(std::string& text, const DoctorLayers& layers) {
  if (layers.workspace.empty()) return;
  const char* kind = layers.is_overlay          ? "overlay (userxattr)"
                     : layers.directory.empty() ? "NONE"
                     : layers.shares_blocks     ? "copy that shares blocks (reflinks)"
                                                : "whole copy";
  append_line(text, fmt::format("Kept layers      of {}: {}",
                                escape_control_bytes(layers.workspace), kind));
  if (!layers.directory.empty())
    append_line(text, fmt::format("{:15}in:   {}", "", escape_control_bytes(layers.directory)));
  if (!layers.reason.empty())
    append_line(text, fmt::format("{:15}why:  {}", "", escape_control_bytes(layers.reason)));
}

Json layers_to_json(const DoctorLayers& layers) {
  if (layers.workspace.empty()) return {};
  const bool any = !layers.directory.empty();
  return {{"workspace", layers.workspace},
          {"kind", any ? Json(layers.is_overlay ? "overlay" : "copy") : Json()},
          {"shares_blocks", layers.shares_blocks},
          {"directory", any ? Json(layers.directory) : Json()},
          {"reason", layers.reason.empty() ? Json() : Json(layers.reason)}};
}

Json managed_to_json(const Result<Managed>& managed) {
  if (!managed.ok() || managed.value().empty()) return {};
  Json list = Json::array();
  for (const ManagedFile& file : managed.value()) {
    list.push_back({{"path", file.mark.path}, {"sha256", file.mark.sha256}, {"name", file.name}});
  }
  return list;
}

void append_surroundings(std::string& text, const SurroundingsText& where, bool runs) {
  append_line(text, fmt::format("runs in: {} ({})", where.name, where.means));
  if (runs || where.unseal == nullptr) return;
  append_line(text, fmt::format("{:15}mend: {}", "", where.unseal));
}

std::string write_text(const HostFacts& facts, bool runs, const HostHints& hints,
                       const Result<Managed>& managed, const DoctorLayers& layers) {
  std::string text;
  append_line(text,
              fmt::format("kernel {} ({}), uid {} ({}), capabilities: {}", facts.kernel_release,
                          facts.architecture, facts.uid, facts.user_name, facts.capabilities));
  append_surroundings(text, surroundings_text(hints.surroundings), runs);
  append_line(text, "\nLayers");
  for (const LayerText& layer : kLayers) {
    const Obstacle obstacle = obstacle_of(layer.layer, facts);
    std::string detail = detail_of(layer.layer, facts);
    if (!detail.empty()) detail = fmt::format(" [{}]", detail);
    append_line(text, fmt::format("  {:13}{:4} {}{}", layer_name(layer.layer),
                                  obstacle.present() ? "NO" : "ok", layer.gives, detail));
    if (obstacle.present()) append_obstacle(text, obstacle);
  }
  append_line(text, fmt::format("\nLandlock ABI {}", facts.landlock_abi));
  for (const std::string& item : landlock_list(facts.landlock_abi, true)) {
    append_line(text, "  covers   " + item);
  }
  for (const std::string& item : landlock_list(facts.landlock_abi, false)) {
    append_line(text, "  lacks    " + item);
  }
  append_line(text, "\nLimits and what enforces them");
  for (const LimitText& limit : limits_of(facts)) {
    append_line(text, fmt::format("  {:13}{}", limit.name, limit.enforcer));
  }
  if (facts.cgroup.base.empty()) {
    append_line(text, "  cgroup2 cannot be used: " + facts.cgroup.reason);
    append_line(text, fmt::format("{:15}mend: {}", "", kCgroupHint));
  } else {
    append_line(text, "  cgroup2 boxes are made in " + facts.cgroup.base);
  }
  append_line(text, fmt::format("\nOverlay          upper layer on a tmpfs: {}",
                                facts.overlay_on_tmpfs ? "ok" : "NO, on disk instead"));
  append_layers(text, layers);
  if (hints.apparmor_restricts_userns == 1) {
    append_line(text,
                "AppArmor         restricts user namespaces; the profile that allows them: "
                "sbx-run doctor --apparmor");
  }
  append_managed(text, managed);
  append_line(text, runs ? "\nThe default profile runs here."
                         : "\nThe default profile does NOT run here: mend what says NO above, or "
                           "allow a weaker tier with --allow-degraded.");
  return text;
}

Json layer_to_json(const LayerText& layer, const HostFacts& facts) {
  const Obstacle obstacle = obstacle_of(layer.layer, facts);
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"available", !obstacle.present()},
          {"gives", layer.gives},
          {"detail", or_null(detail_of(layer.layer, facts))},
          {"reason", or_null(obstacle.reason)},
          {"mend", or_null(obstacle.hint)}};
}

Json surroundings_to_json(const SurroundingsText& where, bool runs) {
  return {{"kind", where.name},
          {"means", where.means},
          {"mend", runs || where.unseal == nullptr ? Json() : Json(where.unseal)}};
}

std::string write_json(const HostFacts& facts, bool runs, const HostHints& hints,
                       const std::string& executable, const Result<Managed>& managed,
                       const DoctorLayers& kept) {
  Json layers = Json::object();
  for (const LayerText& layer : kLayers)
    layers[layer_name(layer.layer)] = layer_to_json(layer, facts);
  Json limits = Json::object();
  for (const LimitText& limit : limits_of(facts)) limits[limit.name] = limit.enforcer;
  const bool has_cgroup = !facts.cgroup.base.empty();
  const Obstacle proc = proc_obstacle(facts);
  const Json document = {
      {"kernel", facts.kernel_release},
      {"architecture", facts.architecture},
      {"uid", facts.uid},
      {"capabilities", facts.capabilities},
      {"gid", facts.gid},
      {"surroundings", surroundings_to_json(surroundings_text(hints.surroundings), runs)},
      {"layers", layers},
      {"landlock",
       {{"abi", facts.landlock_abi},
        {"covers", landlock_list(facts.landlock_abi, true)},
        {"missing", landlock_list(facts.landlock_abi, false)}}},
      {"seccomp", {{"filter", facts.seccomp_filter}, {"notify", facts.seccomp_notify}}},
      {"clone3", facts.clone3},
      {"proc",
       {{"mountable", can_mount_proc(facts)}, {"mend", proc.present() ? Json(proc.hint) : Json()}}},
      {"limits", limits},
      {"cgroup",
       {{"available", has_cgroup},
        {"base", has_cgroup ? Json(facts.cgroup.base) : Json()},
        {"must_move", facts.cgroup.must_move},
        {"reason", has_cgroup ? Json() : Json(facts.cgroup.reason)},
        {"mend", has_cgroup ? Json() : Json(kCgroupHint)}}},
      {"overlay", {{"on_tmpfs", facts.overlay_on_tmpfs}}},
      {"kept_layers", layers_to_json(kept)},
      {"apparmor",
       {{"restricted", hints.apparmor_restricts_userns == 1},
        {"profile", apparmor_profile_text(executable)}}},
      {"managed", managed_to_json(managed)},
      {"managed_error", managed.ok() ? Json() : Json(managed.error().message)},
      {"default_profile_runs", runs}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

// AppArmor's quoting: a quoted path, in which its own wildcards are escaped. A path with a byte
// that could end the quotes or the line cannot be written at all.
std::string quote_for_apparmor(const std::string& path) {
  std::string out = "\"";
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '"') continue;
    if (std::string_view("\\*?[]{}^@").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

DoctorReport make_doctor_report(const HostFacts& facts, const std::string& executable,
                                const Result<Managed>& managed, const DoctorLayers& layers) {
  const HostHints hints = read_host_hints();
  DoctorReport report;
  Status allowed;
  if (managed.ok()) allowed = check_forbidden(managed.value(), {"default"}, {});
  report.all_layers = default_profile_runs(facts) && managed.ok() && allowed.ok();
  report.text = write_text(facts, report.all_layers, hints, managed, layers);
  if (!allowed.ok()) append_line(report.text, allowed.error().message);
  report.json = write_json(facts, report.all_layers, hints, executable, managed, layers);
  return report;
}

std::string apparmor_profile_text(const std::string& executable) {
  const char* const name = executable.ends_with("/sbx-bwrap") ? "sbx-bwrap" : "sbx-run";
  return fmt::format(
      "# Lets {0} make user namespaces where AppArmor restricts them (Ubuntu 23.10 and later).\n"
      "# sudo apparmor_parser -r /etc/apparmor.d/{0}\n"
      "abi <abi/4.0>,\n"
      "include <tunables/global>\n"
      "\n"
      "profile {0} {1} flags=(unconfined) {{\n"
      "  userns,\n"
      "\n"
      "  # Additions of this machine.\n"
      "  include if exists <local/{0}>\n"
      "}}\n",
      name, quote_for_apparmor(executable));
}

}  // namespace sbx
