// SPDX-License-Identifier: Apache-2.0
// The verbs that run nothing: explain, doctor, profile, schema, version, help.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "flag_table.h"
#include "flags.h"
#include "host/doctor.h"
#include "json/writer.h"
#include "kept/look.h"
#include "output/rule_set.h"
#include "plan/filter.h"
#include "policy/http.h"
#include "policy/params.h"
#include "policy/policy.h"
#include "prepare.h"
#include "profile/schema.h"
#include "report/explain.h"
#include "report/json.h"
#include "rpc/methods.h"
#include "run/explained.h"
#include "tools/tool.h"
#include "verbs.h"

namespace sbx {
namespace {

using Json = nlohmann::ordered_json;

int print(const std::string& text) {
  return say(text.empty() || text.ends_with('\n') ? text : text + "\n");
}

std::string own_path() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path;
}

// A layer that is required or needed, and turned off: the profile can run nowhere.
void add_contradictions(const Profile& profile, std::vector<Error>& errors) {
  LayerSet on = layers_of(profile);
  // The mode itself takes the namespace away, and the requirement with it.
  if (profile.network.mode == NetworkMode::kOpen) on.add(Layer::kNet);
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (!profile.isolation.require.has(layer) || on.has(layer)) continue;
    const std::string name = layer_name(layer);
    errors.push_back({.code = ErrorCode::kBadValue,
                      .message = "the layer \"" + name +
                                 "\" is required and turned off: this profile can run nowhere",
                      .where = "/isolation/require",
                      .hint = "remove it from isolation.require, or turn it on (namespaces: "
                              "isolation.namespaces; seccomp.mode, landlock.mode)"});
  }
  if (profile.filesystem.overlay && !on.has(Layer::kMount)) {
    errors.push_back({.code = ErrorCode::kBadValue,
                      .message = "an overlay needs the layer \"mount\", which is turned off: this "
                                 "profile can run nowhere",
                      .where = "/filesystem/overlay",
                      .hint = "remove it, or add \"mount\" to isolation.namespaces"});
  }
}

// What only later rooms can tell of a profile's words: names of system calls, RE2 expressions,
// layers.
void add_errors_of_use(const Result<LoadedProfile>& loaded, std::vector<Error>& errors) {
  if (!loaded.ok()) return errors.push_back(loaded.error());
  const Profile& profile = loaded.value().profile;
  FilterSpec filter;
  filter.mode = profile.seccomp.mode;
  filter.allow = profile.seccomp.allow;
  filter.deny = profile.seccomp.deny;
  if (const auto result = compile_filter(filter); !result.ok()) errors.push_back(result.error());
  if (const auto result = RuleSet::make(profile.output.patterns); !result.ok()) {
    errors.push_back(result.error());
  }
  for (const Status& status :
       {check_http(profile.network), check_caches(profile), check_asked(profile.commands)}) {
    if (!status.ok()) errors.push_back(status.error());
  }
  add_contradictions(profile, errors);
}

// Parses flags and positional words. Returns an exit status when there is nothing more to do.
std::optional<int> parse_simple(const Invocation& invocation, RunOptions& options) {
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (!parsed.ok()) return refuse(parsed.error(), invocation);
  if (parsed.value().help) return print(*parsed.value().help);
  return std::nullopt;
}

// Of the workspace that a run would have here.
DoctorLayers layers_here(const RunOptions& options, const Invocation& invocation,
                         const HostFacts& facts) {
  DoctorLayers out;
  std::vector<std::string> warnings;
  const Result<std::string> workspace = default_workspace(options, invocation, warnings);
  out.workspace = workspace.ok() ? workspace.value() : ".";
  if (facts.obstacle(Layer::kMount).present()) {
    out.reason = "there is no mount layer";
    return out;
  }
  const Result<NewLayer> layer = workspace.ok()
                                     ? plan_new_layer(invocation.environment, workspace.value())
                                     : Result<NewLayer>(workspace.error());
  if (!layer.ok()) {
    out.reason = layer.error().message;
    return out;
  }
  out.directory = layer.value().directory;
  out.is_overlay = layer.value().kind == KeptKind::kOverlay;
  out.shares_blocks = layer.value().shares_blocks;
  out.reason = layer.value().obstacle;
  return out;
}

}  // namespace

int verb_explain(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_simple(invocation, options)) return *status;
  if (options.program.empty() && options.command.empty()) options.command = "true";
  Result<Prepared> prepared = prepare(options, invocation);
  // It prints text: JSON where that was asked for.
  const auto refused = [&](const Error& error) {
    if (options.json) return refuse(error, invocation, error_exit_status(error.code));
    complain(error);
    return error_exit_status(error.code);
  };
  if (!prepared.ok()) return refused(prepared.error());
  RunInput input{*prepared.value().policy, prepared.value().request, prepared.value().facts,
                 invocation.environment};
  const Result<Explained> explained = explain_command(input);
  if (!explained.ok()) return refused(explained.error());
  const auto& [plan, judgement, kind] = explained.value();
  if (options.html) {
    return refused(become_plan_page(explain_json(plan, input.policy, judgement, kind)));
  }
  const auto explain = options.json ? explain_json : explain_text;
  return print(explain(plan, input.policy, judgement, kind));
}

int verb_doctor(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_simple(invocation, options)) return *status;
  if (options.apparmor) return print(apparmor_profile_text(own_path()));
  const auto home = invocation.environment.find("HOME");
  HostFacts facts =
      read_quick_facts(home == invocation.environment.end() ? nullptr : home->second.c_str());
  probe_layers(facts);
  facts.cgroup = find_cgroup();
  const DoctorReport report = make_doctor_report(facts, own_path(), read_managed(kManagedDirectory),
                                                 layers_here(options, invocation, facts));
  return print(options.json ? foreign_json(report.json) : report.text);
}

int verb_profile(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_simple(invocation, options)) return *status;
  const std::string& what = options.what;
  const std::string& name = options.name;
  const ProfileSearch search = profile_search(invocation.environment);
  if (what == "list" && name.empty()) {
    std::string text;
    Json list = Json::array();
    for (const ProfileSummary& profile : list_profiles(search)) {
      text += profile.name +
              std::string(std::max<std::size_t>(22, profile.name.size() + 2) - profile.name.size(),
                          ' ') +
              profile.description + "\n";
      for (const std::string& line : profile.opens) text += std::string(24, ' ') + line + "\n";
      Json entry = {
          {"name", profile.name}, {"description", profile.description}, {"source", profile.source}};
      if (profile.is_preset) entry["opens"] = profile.opens;
      list.push_back(std::move(entry));
    }
    return print(options.json ? foreign_json(list.dump()) : text);
  }
  if (what == "show" && !name.empty()) {
    Result<LoadedProfile> profile = load_profile(name, search);
    return profile.ok() ? print(foreign_json(profile.value().resolved_json(2)))
                        : refuse(profile.error(), invocation);
  }
  if (what == "validate" && !name.empty()) {
    std::vector<Error> errors = validate_profile_file(name, search);
    // With a slash it is a FILE, even where a shipped profile has that name.
    const std::string file = name.find('/') == std::string::npos ? "./" + name : name;
    if (errors.empty()) add_errors_of_use(load_profile(file, search), errors);
    const std::string verdict = errors.empty() ? name + " is a profile\n" : "";
    const int status = print(wants_json(invocation) ? validation_json(errors) : verdict);
    for (const Error& error : errors) complain(error);
    return errors.empty() ? status : 125;
  }
  if (what == "grant" && !name.empty())
    return refuse(become_grant(options, invocation), invocation);
  if (what == "list") {
    return refuse(Error{ErrorCode::kBadFlag, "profile list takes no name", name,
                        "sbx-run profile show " + name},
                  invocation);
  }
  const bool known = what == "show" || what == "validate" || what == "grant";
  return refuse(Error{ErrorCode::kBadFlag,
                      "profile " + what + (known ? ": there is no name" : " is not known"), "",
                      nearest_value(known ? "" : what, ValueKind::kProfileAction,
                                    "profile list, profile show NAME, profile validate FILE, "
                                    "profile grant FILE")},
                invocation);
}

namespace {

Result<std::string> definition(const std::string& tool, const std::string& format) {
  if (format == "anthropic") return tool_definition(tool, ToolFormat::kAnthropic);
  if (format == "openai") return tool_definition(tool, ToolFormat::kOpenai);
  if (format == "mcp") return tool_definition(tool, ToolFormat::kMcp);
  return Error{ErrorCode::kBadFlag, "bad value for --for: '" + format + "'", "--for",
               "anthropic, openai or mcp"};
}

}  // namespace

int verb_schema(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_simple(invocation, options)) return *status;
  const std::string& what = options.what;
  if (what != "tool" && (!options.name.empty() || !options.format.empty())) {
    return refuse(Error{ErrorCode::kBadFlag, "only a tool has a name and a format",
                        options.name.empty() ? "--for" : options.name,
                        "sbx-run schema tool NAME --for FORMAT"},
                  invocation);
  }
  if (what == "profile") return print(profile_schema_json());
  if (what == "request") return print(request_schema_json());
  if (what == "result") return print(result_schema_json());
  if (what == "managed") return print(managed_schema_json());
  if (what == "errors") return print(errors_json());
  if (what == "tool") {
    const Result<std::string> text =
        definition(options.name, options.format.empty() ? "mcp" : options.format);
    return text.ok() ? print(text.value()) : refuse(text.error(), invocation);
  }
  return refuse(Error{ErrorCode::kBadFlag, "schema " + what + " is not known", "",
                      nearest_value(what, ValueKind::kSchema,
                                    "schema profile, schema managed, schema request, schema "
                                    "result, schema errors, schema tool NAME")},
                invocation);
}

namespace {

// The verbs, and what none of them is.
Json features() {
  Json out = {"profiles", "presets", "sessions",  "tools",     "layers",
              "caches",   "managed", "allowlist", "http",      "credentials",
              "publish",  "overlay", "approve",   "terminals", "kept_shell",
              "stream",   "audit",   "redaction", "spill",     "degrade"};
  for (const Verb& verb : kVerbs) out.push_back(verb.name);
  return out;
}

}  // namespace

int verb_version(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_simple(invocation, options)) return *status;
  const HostFacts facts = read_quick_facts(nullptr);
  Json out;
  out["version"] = SBX_VERSION;
  out["features"] = features();
  out["kernel"] = facts.kernel_release;
  out["architecture"] = facts.architecture;
  out["landlock_abi"] = facts.landlock_abi;
  out["libraries"] = {
      {"libseccomp", SBX_SECCOMP_VERSION},
      {"libcap-ng", SBX_CAPNG_VERSION},
      {"CLI11", flag_library_version()},
      {"re2", SBX_RE2_VERSION},
      {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                    NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"fmt",
       fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
  return print(options.json ? out.dump() : std::string("sbx-run ") + SBX_VERSION);
}

int verb_help(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_simple(invocation, options)) return *status;
  if (options.what.empty()) return print(verbs_help());
  const Result<std::string> text = verb_help_text(options.what);
  return text.ok() ? print(text.value()) : refuse(text.error(), invocation);
}

}  // namespace sbx
