// SPDX-License-Identifier: Apache-2.0
// The file is replaced whole, and only by a profile that loads.
#include "learn/grant.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "json/reader.h"
#include "learn/grants.h"
#include "process.h"

namespace sbx::learn {
namespace {

constexpr std::size_t kMostProfile = std::size_t{1} << 20;
constexpr std::size_t kMostResult = std::size_t{16} << 20;

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

// The texts of its denials' grants, each once.
Result<std::vector<std::string>> grants_of(const std::string& text) {
  SBX_TRY(const nlohmann::json result, read_json_strict(text));
  const auto bad = [](const std::string& where) {
    return Error{ErrorCode::kBadValue, "no result of sbx-run: " + where, where,
                 "give the JSON that sbx-run printed"};
  };
  const auto denials = result.find("denials");
  if (!result.is_object() || denials == result.end() || !denials->is_array())
    return bad("/denials");
  std::vector<std::string> grants;
  for (std::size_t i = 0; i < denials->size(); ++i) {
    const nlohmann::json& denial = (*denials)[i];
    const auto grant = denial.find("grant");
    if (!denial.is_object() || grant == denial.end() || !grant->is_string()) {
      return bad("/denials/" + std::to_string(i) + "/grant");
    }
    const auto& words = grant->get_ref<const std::string&>();
    const bool is_new = std::find(grants.begin(), grants.end(), words) == grants.end();
    if (!words.empty() && is_new) grants.push_back(words);
  }
  return grants;
}

// As many spaces as its first indented line has.
int indent_of(const std::string& text) {
  const std::size_t at = text.find("\n ");
  if (at == text.npos) return 2;
  const std::size_t first = text.find_first_not_of(' ', at + 1);
  return first == text.npos ? 2 : static_cast<int>(first - at - 1);
}

Status replace(const std::string& path, const std::string& text) {
  const auto failed = [&](const std::string& call) {
    return Error{ErrorCode::kOutputUnwritable, call + ": " + errno_text(errno), path,
                 "make its directory writable", errno};
  };
  const std::string fresh = path + "." + std::to_string(getpid());
  struct stat info {};
  const mode_t mode = stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0644;
  const OwnedFd file(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return failed("open(" + fresh + ")");
  const bool is_done = write_all(file.get(), text) && fchmod(file.get(), mode) == 0 &&
                       fsync(file.get()) == 0 && rename(fresh.c_str(), path.c_str()) == 0;
  if (is_done) return {};
  const Error error = failed("write(" + path + ")");
  unlink(fresh.c_str());
  return error;
}

// Of the person at the terminal, wherever standard input leads.
bool is_wanted(const GrantOptions& options) {
  if (options.yes) return true;
  const OwnedFd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal.is_open() || isatty(STDOUT_FILENO) == 0) return false;
  write_all(terminal.get(), "Write this to " + escape_control_bytes(options.file) + "? [y/N] ");
  const Result<std::string> answer = [&]() -> Result<std::string> {
    char line[64];
    const ssize_t size = read(terminal.get(), line, sizeof line);
    return std::string(line, size > 0 ? static_cast<std::size_t>(size) : 0);
  }();
  return answer.value() == "y\n" || answer.value() == "yes\n";
}

struct Applied {
  Document profile;
  std::vector<std::string> left;  // lines about what was not
  bool is_refused = false;
};

void apply(const std::vector<std::string>& grants, const GrantOptions& options, Applied& out) {
  std::vector<std::string> own = {options.file};
  const Result<std::string> real = real_path(options.file);
  if (real.ok()) own.push_back(real.value());
  if (!options.state.empty()) own.push_back(options.state);
  for (const std::string& text : grants) {
    const Result<Grant> grant = parse_grant(text);
    if (!grant.ok()) {
      out.left.push_back("left to you: " + text);
      continue;
    }
    const std::string why = never_granted(grant.value(), options.home, own);
    if (!why.empty()) {
      out.left.push_back("refused: " + text + ": " + why);
      out.is_refused = true;
      continue;
    }
    add_grant(grant.value(), out.profile);
  }
}

// A list of hosts counts in the mode allowlist alone.
bool needs_allowlist(const Document& profile, NetworkMode mode) {
  if (mode != NetworkMode::kNone) return false;
  const auto network = profile.find("network");
  if (network == profile.end() || !network->is_object()) return false;
  for (const char* key : {"allow", "+allow"}) {
    const auto list = network->find(key);
    if (list != network->end() && !list->empty()) return true;
  }
  return false;
}

}  // namespace

Result<int> grant(const GrantOptions& options) {
  const Result<std::string> before = read_file(options.file, kMostProfile + 1);
  if (!before.ok()) {
    return Error{
        ErrorCode::kProfileNotFound,
        "cannot read the profile " + options.file + ": " + errno_text(before.error().sys_errno),
        "FILE", "name a profile's file; {} is the smallest one", before.error().sys_errno};
  }
  const std::string path =
      options.file.find('/') == options.file.npos ? "./" + options.file : options.file;
  SBX_TRY(const LoadedProfile loaded, load_profile(path, options.search));
  SBX_TRY(const std::string result, read_result(options.from));
  SBX_TRY(const std::vector<std::string> grants, grants_of(result));
  Applied applied;
  applied.profile = Document::parse(before.value(), nullptr, false);
  const Document known = applied.profile;
  apply(grants, options, applied);
  if (needs_allowlist(applied.profile, loaded.profile.network.mode)) {
    applied.profile["network"]["mode"] = "allowlist";
  }
  for (const std::string& line : applied.left) {
    write_all(STDERR_FILENO, "sbx-run: " + escape_control_bytes(line) + "\n");
  }
  const int exit_status = applied.is_refused ? 125 : 0;
  if (applied.profile == known) {
    write_all(STDOUT_FILENO, "nothing to add\n");
    return exit_status;
  }
  const std::string after = applied.profile.dump(indent_of(before.value())) + "\n";
  const std::vector<Error> errors = validate_profile_text(after, path, options.search);
  if (!errors.empty()) return errors.front();
  write_all(STDOUT_FILENO, difference(before.value(), after));
  if (!is_wanted(options)) {
    write_all(STDERR_FILENO, "sbx-run: nothing is written without --yes\n");
    return exit_status;
  }
  const Result<std::string> target = real_path(options.file);
  SBX_CHECK_OK(replace(target.ok() ? target.value() : options.file, after));
  return exit_status;
}

}  // namespace sbx::learn
