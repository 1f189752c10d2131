// SPDX-License-Identifier: Apache-2.0
// The file is replaced whole, and only by a profile that loads.
#include "learn/grant.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "json/reader.h"
#include "learn/account.h"
#include "learn/grants.h"
#include "learn/never.h"
#include "learn/profile_file.h"
#include "policy/http.h"
#include "process.h"
#include "profile/source.h"

namespace sbx::learn {
namespace {

constexpr std::size_t kMostResult = std::size_t{16} << 20;
constexpr int kMostTries = 100;  // where others go on changing the profile

Result<std::string> read_result(const std::string& from) {
  const bool is_stdin = from.empty() || from == "-";
  if (is_stdin && isatty(STDIN_FILENO) != 0) {
    return Error{ErrorCode::kBadFlag,
                 "the result is read from standard input, and nothing is there", "--from",
                 "--from RESULT.json, or sbx-run -c COMMAND | sbx-run profile grant FILE"};
  }
  Result<std::string> text =
      is_stdin ? read_up_to(STDIN_FILENO, kMostResult + 1) : read_file(from, kMostResult + 1);
  if (!text.ok()) {
    return Error{ErrorCode::kPathNotFound,
                 "cannot read the result " + from + ": " + errno_text(text.error().sys_errno),
                 "--from", "name what sbx-run printed", text.error().sys_errno};
  }
  if (text.value().size() <= kMostResult) return text;
  return Error{ErrorCode::kTooLarge, "the result is larger than 16 MiB", "--from", ""};
}

struct Applied {
  Document profile;
  std::vector<std::string> left;  // lines about what was not
  bool is_refused = false;
};

Result<Guarded> guarded_of(const GrantOptions& options) {
  Guarded guarded{own_homes(options.home), {}, {}, {options.file}, program_places(options.path)};
  const Result<std::string> real = real_path(options.file);
  if (real.ok()) guarded.own.push_back(real.value());
  if (!options.state.empty()) guarded.own.push_back(options.state);
  SBX_TRY(guarded.secrets, secret_places(guarded.homes));
  guarded.linked = linked_files(guarded.secrets);
  return guarded;
}

// A rule is for a host that the list covers.
void add_hosts(const Grant& rules, const Profile& profile, Document& to) {
  for (const Document& rule : rules.value) {
    const Document& host = rule.value("host", Document());
    NetworkProfile alone;
    alone.mode = NetworkMode::kAllowlist;
    alone.allow = profile.network.allow;
    const auto named = parse_host_rule(host.is_string() ? host.get<std::string>() : "");
    if (!named) continue;
    alone.http.emplace_back().host = *named;
    if (!check_http(alone).ok()) add_grant({"network", "allow", true, {host}}, to);
  }
}

void apply(const std::vector<std::string>& grants, const Profile& profile, const Guarded& guarded,
           Applied& out) {
  for (const std::string& text : grants) {
    const Result<Grant> grant = parse_grant(text);
    if (!grant.ok() || is_without_list(grant.value(), profile)) {
      out.left.push_back("left to you: " + text);
      continue;
    }
    const std::string why = never_granted(grant.value(), guarded);
    if (!why.empty()) {
      out.left.push_back("refused: " + text + ": " + why);
      out.is_refused = true;
      continue;
    }
    const std::string home = guarded.homes.empty() ? "" : guarded.homes.front();
    add_grant(lacking(grant.value(), profile, home), out.profile, home);
    if (grant.value().key == "http") add_hosts(grant.value(), profile, out.profile);
  }
}

// Lists of hosts and of rules for them count in the mode allowlist alone.
bool needs_allowlist(const Document& profile, NetworkMode mode) {
  if (mode != NetworkMode::kNone) return false;
  const auto network = profile.find("network");
  if (network == profile.end() || !network->is_object()) return false;
  for (const char* key : {"allow", "+allow", "http", "+http"}) {
    const auto list = network->find(key);
    if (list != network->end() && !list->empty()) return true;
  }
  return false;
}

struct ProfileFile {
  std::string text;
  std::string path;
  Profile profile;
};

Result<ProfileFile> read_profile(const GrantOptions& options) {
  Result<std::string> text = read_file(options.file, kMaxProfileBytes + 1);
  if (!text.ok()) {
    return Error{
        ErrorCode::kProfileNotFound,
        "cannot read the profile " + options.file + ": " + errno_text(text.error().sys_errno),
        "FILE", "name a profile's file; {} is the smallest one", text.error().sys_errno};
  }
  std::string path =
      options.file.find('/') == options.file.npos ? "./" + options.file : options.file;
  SBX_TRY(LoadedProfile loaded, load_profile(path, options.search));
  return ProfileFile{std::move(text).value(), std::move(path), std::move(loaded.profile)};
}

// Errors: those of replace_file() too.
Result<int> grant_once(const GrantOptions& options, const std::vector<std::string>& grants,
                       const Guarded& guarded) {
  SBX_TRY(const ProfileFile file, read_profile(options));
  Applied applied;
  applied.profile = Document::parse(file.text, nullptr, false);
  const Document known = applied.profile;
  apply(grants, file.profile, guarded, applied);
  if (needs_allowlist(applied.profile, file.profile.network.mode)) {
    add_grant({"network", "mode", false, "allowlist"}, applied.profile);
  }
  for (const std::string& line : applied.left) say(line);
  const int exit_status = applied.is_refused ? 125 : 0;
  if (applied.profile == known) {
    const int status = sbx::say("nothing to add\n");
    return status == 0 ? exit_status : status;
  }
  const std::string after = applied.profile.dump(indent_of(file.text)) + "\n";
  SBX_TRY(const LoadedProfile made, load_profile_text(after, file.path, options.search));
  SBX_CHECK_OK(check_http(made.profile.network));
  const int said = sbx::say(difference(file.text, after));
  if (said != 0) return said;
  if (!is_wanted(options.file, options.yes)) {
    say(why_unwritten());
    return exit_status;
  }
  SBX_CHECK_OK(replace_file(options.file, after, true, &file.text));
  return exit_status;
}

}  // namespace

Result<int> grant(const GrantOptions& options) {
  // What is wrong with it is said before a result is waited for.
  if (const auto file = read_profile(options); !file.ok()) return file.error();
  SBX_TRY(const std::string text, read_result(options.from));
  SBX_TRY(const nlohmann::json result, read_json_strict(text));
  SBX_TRY(const std::vector<std::string> grants, grants_of(result));
  SBX_TRY(const Guarded guarded, guarded_of(options));
  for (int left = kMostTries;;) {
    Result<int> status = grant_once(options, grants, guarded);
    if (status.ok() || status.error().sys_errno != ESTALE || --left == 0) return status;
    say(options.file + " has been changed meanwhile: once more");
  }
}

}  // namespace sbx::learn
