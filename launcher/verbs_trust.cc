// SPDX-License-Identifier: Apache-2.0
// trust, untrust: a project's own profile, as it is now.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "flags.h"
#include "json/writer.h"
#include "prepare.h"
#include "project.h"
#include "session_verbs.h"
#include "verbs.h"

namespace sbx {
namespace {

using Json = nlohmann::ordered_json;

// What a run in the directory would find.
Result<std::string> named_project(const RunOptions& options) {
  if (!options.name.empty() && !options.workspace.empty()) {
    return Error{ErrorCode::kBadFlag, "DIR and --workspace exclude each other", "--workspace",
                 "leave one of the two out"};
  }
  const std::string& named = options.name.empty() ? options.workspace : options.name;
  std::string path = find_project(named.empty() ? "." : named);
  if (!path.empty()) return path;
  return Error{ErrorCode::kProfileNotFound,
               "no .sbx/profile.json in " + (named.empty() ? "the current directory" : named) +
                   ", nor in any directory above",
               "trust", "write one there, or name the project's directory"};
}

Result<Json> change_trust(const RunOptions& options, const Invocation& invocation) {
  SBX_TRY(const std::string path, named_project(options));
  const bool is_trust = std::string_view(invocation.verb->name) == "trust";
  Json answer = {{"path", repair_utf8(path)}, {"trusted", is_trust}};
  if (!is_trust) {
    SBX_TRY(const bool was_trusted, untrust_project(path, invocation.environment));
    answer["was_trusted"] = was_trusted;
    return answer;
  }
  SBX_TRY(const TrustedFiles files,
          trust_project(path, profile_search(invocation.environment), invocation.environment));
  static constexpr std::size_t kDigits = 64;
  answer["files"] = Json::array();
  for (const std::string& file : files) {
    answer["files"].push_back(
        {{"path", repair_utf8(file.substr(kDigits))}, {"sha256", file.substr(0, kDigits)}});
  }
  return answer;
}

// With the digests, which say what is trusted.
std::string trust_text(const Json& answer) {
  // A stranger may have chosen the names.
  const auto shown = [](const Json& at) {
    return escape_control_bytes(at["path"].get<std::string>());
  };
  const std::string path = shown(answer);
  std::string text;
  if (!answer["trusted"].get<bool>()) {
    text =
        path + (answer["was_trusted"].get<bool>() ? " is trusted no more\n" : " was not trusted\n");
  } else {
    text = path + " is trusted as it is now\n";
    for (const Json& file : answer["files"]) {
      text += "  " + file["sha256"].get<std::string>() + "  " + shown(file) + "\n";
    }
  }
  return text;
}

}  // namespace

int verb_trust(const Invocation& invocation) {
  RunOptions options;
  const Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  const Result<Json> answer =
      parsed.ok() ? change_trust(options, invocation) : Result<Json>(parsed.error());
  if (!answer.ok()) return refuse(answer.error(), invocation);
  return print(wants_json(invocation) ? foreign_json(answer.value().dump())
                                      : trust_text(answer.value()))
             ? 0
             : 125;
}

}  // namespace sbx
