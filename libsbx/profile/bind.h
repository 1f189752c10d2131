// SPDX-License-Identifier: Apache-2.0
// The one listing of Profile's members beside their keys. decode.cc goes through it with a reader
// and with a writer, so that what is printed is what was read. A test holds it against fields.cc.
#pragma once

#include <span>
#include <string_view>

#include "profile/fields.h"
#include "profile/profile.h"

namespace sbx {

template <typename Io>
void bind_limits(Io& io, LimitsProfile& limits) {
  io.limit("timeout_ms", limits.timeout_ms);
  io.limit("cpu_ms", limits.cpu_ms);
  io.limit("memory_mb", limits.memory_mb);
  io.limit("pids", limits.pids);
  io.limit("open_files", limits.open_files);
  io.limit("file_kb", limits.file_kb);
  io.limit("tmp_mb", limits.tmp_mb);
  io.limit("output_kb", limits.output_kb);
  io.limit("output_lines", limits.output_lines);
}

template <typename Io>
void bind_reach(Io& io, Profile& p) {
  io.object("filesystem", [&](Io& in) {
    in.choice("base", p.filesystem.base, kBaseNames);
    in.roots("roots", p.filesystem.roots);
    in.protect("protect", p.filesystem.protect);
    in.choice("home", p.filesystem.home, kHomeNames);
    in.texts("devices", p.filesystem.devices);
    in.flag("overlay", p.filesystem.overlay);
    in.choice("replaced", p.filesystem.replaced, kReplacedNames);
  });
  io.object("network", [&](Io& in) {
    in.choice("mode", p.network.mode, kNetworkNames);
    in.texts("allow", p.network.allow);
    in.texts("unix_sockets", p.network.unix_sockets);
    in.counts("host_ports", p.network.host_ports);
  });
}

template <typename Io>
void bind_layers(Io& io, Profile& p) {
  io.object("isolation", [&](Io& in) {
    in.layers("namespaces", p.isolation.namespaces);
    in.layers("require", p.isolation.require);
    in.choice("fallback", p.isolation.fallback, kFallbackNames);
  });
  io.object("seccomp", [&](Io& in) {
    in.choice("mode", p.seccomp.mode, kSeccompNames);
    in.texts("allow", p.seccomp.allow);
    in.texts("deny", p.seccomp.deny);
  });
  io.object("landlock", [&](Io& in) { in.choice("mode", p.landlock, kLandlockNames); });
}

template <typename Io>
void bind_command(Io& io, Profile& p) {
  io.object("environment", [&](Io& in) {
    in.choice("scrub", p.environment.scrub, kScrubNames);
    in.texts("pass", p.environment.pass);
    in.text_map("set", p.environment.set);
    in.flag("request", p.environment.request);
  });
  io.object("commands", [&](Io& in) {
    in.text("shell", p.commands.shell);
    in.optional_texts("allow", p.commands.allow);
    in.texts("network_allow", p.commands.network_allow);
    in.texts("deny", p.commands.deny);
    in.texts("ask", p.commands.ask);
    in.flag("readonly", p.commands.readonly);
    in.flag("confine_paths", p.commands.confine_paths);
  });
}

template <typename Io>
void bind_results(Io& io, Profile& p) {
  io.object("output", [&](Io& in) {
    in.flag("redact", p.output.redact);
    in.texts("patterns", p.output.patterns);
    in.flag("result_json", p.output.result_json);
    in.count("spill_mb", p.output.spill_mb);
    in.flag("exact_bytes", p.output.exact_bytes);
  });
  io.object("workspace", [&](Io& in) { in.choice("mode", p.workspace, kWorkspaceNames); });
  io.object("audit", [&](Io& in) { in.optional_text("file", p.audit_file); });
}

template <typename Io>
void bind_profile(Io& io, Profile& p) {
  io.text("name", p.name);
  io.text("description", p.description);
  bind_reach(io, p);
  bind_layers(io, p);
  io.object("limits", [&](Io& in) { bind_limits(in, p.limits); });
  io.object("ceilings", [&](Io& in) { bind_limits(in, p.ceilings); });
  bind_command(io, p);
  bind_results(io, p);
}

}  // namespace sbx
