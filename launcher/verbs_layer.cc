// SPDX-License-Identifier: Apache-2.0
// layer: what a kept layer holds, by sbx-layer, which takes this process's place.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "flags.h"
#include "host/view.h"
#include "kept/command.h"
#include "prepare.h"
#include "report/audit_log.h"
#include "verbs.h"

namespace sbx {
namespace {

// Without "." and "..", by its text: sbx-layer knows how far symlinks may lead.
Result<std::string> path_from_here(const std::string& path, const std::string& where) {
  std::string whole = path;
  if (!path.starts_with('/')) {
    SBX_TRY(const std::string base, current_directory(where));
    whole = base + "/" + path;
  }
  std::string out;
  for (const std::string_view part : split(whole, '/')) {
    if (part == "..") {
      out.resize(std::min(out.size(), out.rfind('/')));
    } else if (!part.empty() && part != ".") {
      (out += '/') += part;
    }
  }
  return out.empty() ? "/" : out;
}

Status add_paths(std::vector<std::string>& words, const char* flag,
                 const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    SBX_TRY(std::string absolute, path_from_here(path, flag));
    words.emplace_back(flag);
    words.push_back(std::move(absolute));
  }
  return {};
}

// What changes the layer, or the workspace from it, is in the audit log as runs are.
void add_audit_words(std::vector<std::string>& words, const Policy& policy) {
  const AuditPlace place = audit_place(policy);
  if (place.files.empty()) return;
  words.insert(words.end(), {"--profile", policy.run.name, "--sha256", place.profile_sha256});
  for (const std::string& file : place.files) words.insert(words.end(), {"--audit", file});
  for (const ManagedMark& mark : policy.run.managed) {
    words.insert(words.end(), {"--managed", mark.sha256 + ":" + mark.path});
  }
}

Result<std::vector<std::string>> layer_words(const RunOptions& options,
                                             const Invocation& invocation) {
  std::vector<std::string> words = {"sbx-layer"};
  std::string workspace;
  if (options.what != "list" && options.what != "diff") {
    SBX_TRY(const SessionOptions session, prepare_session(options, invocation));
    workspace = session.policy->sandbox.workspace;
    add_audit_words(words, *session.policy);
    if (options.what == "commit") SBX_CHECK_OK(add_policy_words(words, *session.policy));
  } else {
    std::vector<std::string> warnings;
    SBX_TRY(workspace, default_workspace(options, invocation, warnings));
  }
  if (workspace.empty() || workspace == kFreshWorkspace) {
    return Error{ErrorCode::kBadValue, "a fresh workspace has no layers", "--workspace",
                 "name the workspace that the layer is of"};
  }
  words.insert(words.end(), {"--workspace", workspace});
  SBX_CHECK_OK(add_paths(words, "--ours", options.ours));
  SBX_CHECK_OK(add_paths(words, "--theirs", options.theirs));
  if (!options.root.empty()) SBX_CHECK_OK(add_paths(words, "--root", {options.root}));
  const std::pair<const char*, bool> switches[] = {
      {"--json", options.json},       {"--stat", options.stat}, {"--name-only", options.name_only},
      {"--dry-run", options.dry_run}, {"--undo", options.undo}, {"--terminal", isatty(1) != 0}};
  for (const auto& [name, is_on] : switches) {
    if (is_on) words.emplace_back(name);
  }
  words.insert(words.end(), {"--", options.what});
  if (options.what != "list" || !options.name.empty()) words.push_back(options.name);
  const bool takes_paths =
      options.what == "diff" || options.what == "commit" || options.what == "discard";
  for (const std::string& argument : options.arguments) {
    std::string word = argument;
    if (takes_paths) {
      SBX_TRY(word, path_from_here(argument, "PATH"));
    }
    words.push_back(std::move(word));
  }
  return words;
}

// Comes back only with what kept it from being done.
Error become_layer(const RunOptions& options, const Invocation& invocation) {
  SBX_TRY(std::vector<std::string> words, layer_words(options, invocation));
  return become_companion(std::move(words));
}

}  // namespace

int verb_layer(const Invocation& invocation) {
  RunOptions options;
  const Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  const Error error = parsed.ok() ? become_layer(options, invocation) : parsed.error();
  return refuse(error, invocation);
}

}  // namespace sbx
