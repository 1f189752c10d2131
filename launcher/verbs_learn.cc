// SPDX-License-Identifier: Apache-2.0
// learn, and profile grant: sbx-learn's, which lies beside.
#include "flags.h"
#include "host_files/places.h"
#include "model/exit_status.h"
#include "prepare.h"
#include "report/json.h"
#include "run/answer.h"
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
  if (options.yes) words.emplace_back("--yes");
  return words;
}

Error become_learn(const RunOptions& options, const Invocation& invocation) {
  if (options.program.empty()) {
    return Error{ErrorCode::kBadFlag, "there is no command to learn from", "--",
                 "sbx-run learn --out FILE -- PROGRAM [ARG...]"};
  }
  std::vector<std::string> warnings;
  SBX_TRY(const std::string workspace, default_workspace(options, invocation, warnings));
  for (const std::string& warning : warnings) warn(warning);
  std::vector<std::string> words = learn_words("learn", options, invocation.environment);
  words.insert(words.end(), {"--workspace", workspace, "--merge", options.merge_file, "--out",
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
    return write_all(STDOUT_FILENO, *parsed.value().help) ? 0 : 125;
  }
  const Error error = parsed.ok() ? become_learn(options, invocation) : parsed.error();
  complain(error);
  write_all(STDOUT_FILENO, outcome_to_json(error_outcome(error)) + "\n");
  return 125;
}

}  // namespace sbx
