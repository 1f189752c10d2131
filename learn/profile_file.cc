// SPDX-License-Identifier: Apache-2.0
// Nothing here knows what a setting means.
#include "learn/profile_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/owned_fd.h"
#include "base/text.h"
#include "process.h"

namespace sbx::learn {

Result<std::vector<std::string>> grants_of(const nlohmann::json& result) {
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

int indent_of(const std::string& text) {
  const std::size_t at = text.find("\n ");
  if (at == text.npos) return 2;
  const std::size_t first = text.find_first_not_of(' ', at + 1);
  return first == text.npos ? 2 : static_cast<int>(first - at - 1);
}

Status replace_file(const std::string& path, const std::string& text) {
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

bool is_at_terminal() {
  return isatty(STDOUT_FILENO) != 0 &&
         OwnedFd(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)).is_open();
}

bool is_agreed(const std::string& question) {
  const OwnedFd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal.is_open() || isatty(STDOUT_FILENO) == 0) return false;
  write_all(terminal.get(), escape_control_bytes(question) + "? [y/N] ");
  char line[64];
  const ssize_t size = read(terminal.get(), line, sizeof line);
  const std::string_view answer(line, size > 0 ? static_cast<std::size_t>(size) : 0);
  return answer == "y\n" || answer == "yes\n";
}

bool is_wanted(const std::string& file, bool yes) {
  return yes || is_agreed("Write this to " + file);
}

}  // namespace sbx::learn
