// SPDX-License-Identifier: Apache-2.0
// batch: the flags are read here, by the one table; what follows is sbx-batch's, which lies beside.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/by_number.h"
#include "base/files.h"
#include "flag_table.h"
#include "flags.h"
#include "prepare.h"
#include "session_client.h"
#include "verbs.h"

namespace sbx {
namespace {

// A file that is open already, by redirection; where it has no name any more, no task finds it.
void protect_open_file(int fd, SessionFlags& session) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  Result<std::string> path = real_path(by_number(fd));
  if (path.ok()) session["--protect"].push_back(std::move(path).value());
}

// Its words: own flags and the file, then "--", then the flags that `serve` gets.
Result<std::vector<std::string>> batch_words(const Invocation& invocation, RunOptions& options) {
  const Verb& verb = *invocation.verb;
  if (invocation.is_stdin_closed && (options.tasks.empty() || options.tasks == "-")) {
    return Error{ErrorCode::kBadDescriptor, "standard input is closed", "stdin",
                 "give the tasks on it, or name a file"};
  }
  if (!options.layer.empty() && !options.jobs.empty() && options.jobs != "1") {
    return Error{ErrorCode::kBadFlag, "one command at a time runs in a layer", "--jobs",
                 "leave it out"};
  }
  if (!options.layer.empty()) options.jobs = "1";
  SBX_TRY(const SessionFlags own, given_flags(options, verb, FlagUse::kVerb));
  SBX_TRY(SessionFlags session, session_flags(options, verb));
  if (!session.contains("--workspace") && options.template_dir.empty() && options.on.empty()) {
    std::vector<std::string> warnings;
    SBX_TRY(std::string workspace, default_workspace(options, invocation, warnings));
    for (const std::string& warning : warnings) warn(warning);
    if (!workspace.empty()) session["--workspace"] = {std::move(workspace)};
  }
  // Named from here, wherever its server runs.
  if (!options.template_dir.empty()) {
    SBX_TRY(std::string directory, absolute_path(options.template_dir, "--template"));
    session["--template"] = {std::move(directory)};
  }
  // A task does not write what is told of the others.
  if (options.results.empty() || options.results == "-") {
    protect_open_file(STDOUT_FILENO, session);
  } else {
    SBX_TRY(const std::string results, absolute_path(options.results, "--results"));
    for (const char* end : {"", ".held"}) session["--protect"].push_back(results + end);
  }
  // Nor what the next ones are.
  struct stat info {};
  if (options.tasks.empty() || options.tasks == "-") {
    protect_open_file(STDIN_FILENO, session);
  } else if (options.on.empty() && stat(options.tasks.c_str(), &info) == 0 &&
             S_ISREG(info.st_mode)) {
    SBX_TRY(session["--protect"].emplace_back(), absolute_path(options.tasks, "TASKS"));
  }
  std::vector<std::string> words = {"sbx-batch"};
  for (std::string& word : flag_arguments(own)) words.push_back(std::move(word));
  if (!options.tasks.empty()) words.push_back(options.tasks);
  words.emplace_back("--");
  for (std::string& word : flag_arguments(session)) words.push_back(std::move(word));
  return words;
}

}  // namespace

int verb_batch(const Invocation& invocation) {
  RunOptions options;
  // CLI11 knows a switch or a flag with a value, not one that may be either.
  Invocation plain = invocation;
  std::replace(plain.arguments.begin(), plain.arguments.end(), std::string("--resume=failed"),
               std::string("--resume-failed"));
  Result<ParseOutcome> parsed = parse_flags(plain, options);
  if (!parsed.ok() && parsed.error().message == "--resume takes no value") {
    parsed.error().hint += ", or --resume=failed";
  }
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  Result<std::vector<std::string>> words =
      parsed.ok() ? batch_words(plain, options) : Result<std::vector<std::string>>(parsed.error());
  const Error error = words.ok() ? become_companion(std::move(words).value()) : words.error();
  return refuse(error, invocation);
}

}  // namespace sbx
