// SPDX-License-Identifier: Apache-2.0
// learn, and profile grant: sbx-learn's, which lies beside.
#include "base/files.h"
#include "flags.h"
#include "host_files/places.h"
#include "prepare.h"
#include "verbs.h"

namespace sbx {
namespace {

// What both are told of the user.
std::vector<std::string> learn_words(const char* verb, const RunOptions& options,
                                     const Environment& environment) {
  std::vector<std::string> words = {"sbx-learn", verb, "--state", state_directory(environment)};
  const auto home = environment.find("HOME");
  if (home != environment.end()) words.insert(words.end(), {"--home", home->second});
  for (const std::string& directory : profile_search(environment).directories) {
    words.insert(words.end(), {"--profiles", directory});
  }
  if (options.json) words.emplace_back("--json");
  if (options.yes) words.emplace_back("--yes");
  return words;
}

Error become_learn(const RunOptions& options, const Invocation& invocation) {
  if (options.program.empty() == options.command.empty()) {
    return Error{ErrorCode::kBadFlag,
                 options.program.empty() ? "there is no command to learn from"
                                         : "-c and a program exclude each other",
                 "--", "sbx-run learn --out FILE -- PROGRAM [ARG...]"};
  }
  std::vector<std::string> warnings;
  SBX_TRY(const std::string workspace, default_workspace(options, invocation, warnings));
  for (const std::string& warning : warnings) warn(warning);
  std::vector<std::string> words = learn_words("learn", options, invocation.environment);
  std::vector<std::string> parents = options.with;
  parents.insert(parents.begin(), options.profile.empty() ? "default" : options.profile);
  for (std::string& parent : parents) {
    // A file is meant from wherever the profile is used.
    const bool is_file = parent.find('/') != parent.npos || parent.ends_with(".json");
    if (is_file) {
      SBX_TRY(parent, real_path(parent));
    }
    words.insert(words.end(), {"--parent", parent});
  }
  words.insert(words.end(), {"--command", options.command, "--workspace", workspace, "--merge",
                             options.merge_file, "--out",
                             options.out.empty() ? options.merge_file : options.out, "--"});
  words.insert(words.end(), options.program.begin(), options.program.end());
  return become_companion(std::move(words));
}

}  // namespace

Error become_grant(const RunOptions& options, const Invocation& invocation) {
  std::vector<std::string> words = learn_words("grant", options, invocation.environment);
  words.insert(words.end(), {"--file", options.name, "--from", options.from});
  return become_companion(std::move(words));
}

int verb_learn(const Invocation& invocation) {
  RunOptions options;
  const Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  const Error error = parsed.ok() ? become_learn(options, invocation) : parsed.error();
  return refuse(error, invocation);
}

}  // namespace sbx
