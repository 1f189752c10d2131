// SPDX-License-Identifier: Apache-2.0
// The encoding that a digest covers: every value with its length before it, so that no two requests
// read alike.
#include "session/approvals.h"

#include <algorithm>
#include <optional>

#include "base/sha256.h"

namespace sbx {
namespace {

class Encoder {
 public:
  void add(std::string_view text) {
    add_number(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void add_number(std::int64_t number) {
    bytes_ += std::to_string(number);
    bytes_ += ';';
  }
  void add_limit(const std::optional<std::int64_t>& limit) { add_number(limit.value_or(-1)); }
  void add_list(const std::vector<std::string>& list) {
    add_number(static_cast<std::int64_t>(list.size()));
    for (const std::string& item : list) add(item);
  }
  void add_map(const std::map<std::string, std::string>& map) {
    add_number(static_cast<std::int64_t>(map.size()));
    for (const auto& [key, value] : map) {
      add(key);
      add(value);
    }
  }
  std::string digest() const { return sha256_hex(bytes_); }

 private:
  std::string bytes_;
};

template <typename Enum>
std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

void add_layers(Encoder& out, const LayerSet& layers) {
  for (int i = 0; i < kLayerCount; ++i) out.add_number(layers.has(static_cast<Layer>(i)) ? 1 : 0);
}

void add_limits(Encoder& out, const LimitsProfile& limits) {
  for (const auto& limit :
       {limits.timeout_ms, limits.cpu_ms, limits.memory_mb, limits.pids, limits.open_files,
        limits.file_kb, limits.tmp_mb, limits.output_kb, limits.output_lines}) {
    out.add_limit(limit);
  }
}

void add_files(Encoder& out, const FilesystemProfile& filesystem) {
  out.add_number(number(filesystem.base));
  out.add_number(number(filesystem.home));
  out.add_number(filesystem.overlay ? 1 : 0);
  out.add_list(filesystem.devices);
  out.add_number(static_cast<std::int64_t>(filesystem.roots.size()));
  for (const Root& root : filesystem.roots) {
    out.add(root.path);
    out.add_number(number(root.access));
    out.add_number(root.optional ? 1 : 0);
    out.add_number(root.noexec ? 1 : 0);
  }
  out.add_number(static_cast<std::int64_t>(filesystem.protect.size()));
  for (const Protect& protect : filesystem.protect) {
    out.add(protect.path);
    out.add_number(protect.report_missing ? 1 : 0);
  }
}

std::string policy_digest(const Policy& policy) {
  const Profile& profile = policy.profile;
  Encoder out;
  out.add(profile.name);
  out.add(policy.workspace);
  out.add(policy.home);
  out.add_limit(policy.output_bytes);
  out.add_limit(policy.file_bytes);
  add_files(out, profile.filesystem);
  out.add_number(number(profile.network.mode));
  out.add_list(profile.network.allow);
  out.add_list(profile.network.unix_sockets);
  out.add_number(static_cast<std::int64_t>(profile.network.host_ports.size()));
  for (const int port : profile.network.host_ports) out.add_number(port);
  add_layers(out, profile.isolation.namespaces);
  add_layers(out, profile.isolation.require);
  out.add_number(number(profile.isolation.fallback));
  out.add_number(number(profile.seccomp.mode));
  out.add_list(profile.seccomp.allow);
  out.add_list(profile.seccomp.deny);
  out.add_number(number(profile.landlock));
  add_limits(out, profile.limits);
  out.add_number(number(profile.environment.scrub));
  out.add_list(profile.environment.pass);
  out.add_map(profile.environment.set);
  const CommandsProfile& commands = profile.commands;
  out.add(commands.shell);
  out.add_number(commands.allow ? 1 : 0);
  out.add_list(commands.allow.value_or(std::vector<std::string>{}));
  out.add_list(commands.network_allow);
  out.add_list(commands.deny);
  out.add_list(commands.ask);
  out.add_number(number(profile.workspace));
  return out.digest();
}

}  // namespace

std::string approval_digest(const Policy& policy, const Request& request, const std::string& cwd,
                            const Judgement& judgement) {
  Encoder out;
  out.add("sbx approval 1");
  out.add(policy_digest(policy));
  out.add(request.command);
  out.add_list(request.argv);
  out.add(cwd);
  out.add_map(request.env);
  out.add_number(request.stdin_text ? 1 : 0);
  out.add(request.stdin_text.value_or(""));
  out.add_limit(request.timeout_ms);
  out.add_limit(request.file_kb);
  out.add_number(request.network ? 1 : 0);
  out.add_number(static_cast<std::int64_t>(request.files.size()));
  for (const RequestFile& file : request.files) {
    out.add(file.path);
    out.add(file.content);
    out.add_number(file.mode ? static_cast<std::int64_t>(*file.mode) : -1);
  }
  for (const Finding& finding : judgement.findings) {
    out.add(finding.id);
    out.add_number(finding.span.begin);
    out.add_number(finding.span.end);
  }
  return out.digest();
}

void Approvals::forget_old() {
  const Clock::time_point now = now_();
  std::erase_if(granted_, [&](const auto& entry) { return now - entry.second >= kLifetime; });
}

void Approvals::grant(std::string_view digest) {
  forget_old();
  if (granted_.size() >= kMaxOpen) {
    granted_.erase(
        std::min_element(granted_.begin(), granted_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  granted_.insert_or_assign(std::string(digest), now_());
}

bool Approvals::take(std::string_view digest) {
  forget_old();
  const auto found = granted_.find(digest);
  if (found == granted_.end()) return false;
  granted_.erase(found);
  return true;
}

}  // namespace sbx
