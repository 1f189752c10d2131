// SPDX-License-Identifier: Apache-2.0
// Nothing here knows what a setting means.
#include "learn/profile_file.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/text.h"
#include "process.h"
#include "profile/source.h"

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

namespace {

Error no_plain_file(const std::string& path, const char* what) {
  return Error{ErrorCode::kOutputUnwritable, "cannot be written: " + path + ": " + what, path,
               "name a regular file, or one that is not there yet"};
}

// While the file is open nobody else who asks this replaces it: who has its lock is about to.
bool is_still(const OwnedFd& file, const std::string& path, const std::string& before) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  const Result<std::string> now = read_up_to(file.get(), before.size() + 1);
  struct stat held {};
  struct stat named {};
  return now.ok() && now.value() == before && fstat(file.get(), &held) == 0 &&
         lstat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

Status check_new_file(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  return no_plain_file(
      path, S_ISLNK(info.st_mode) ? "a symlink, which is not followed" : "not a regular file");
}

Status replace_file(const std::string& named, const std::string& text, bool is_followed,
                    const std::string* before) {
  const Result<std::string> real = real_path(named);
  const std::string& path = is_followed && real.ok() ? real.value() : named;
  const auto failed = [&](const std::string& call, const char* hint) {
    return call_failed(ErrorCode::kOutputUnwritable, call, path, hint);
  };
  const std::string fresh = path + "." + std::to_string(getpid());
  struct stat info {};
  // Of a symlink that is followed this is what it leads to.
  SBX_CHECK_OK(check_new_file(path));
  const bool is_there = lstat(path.c_str(), &info) == 0;
  const mode_t mode = is_there ? info.st_mode & 0777 : 0644;
  const OwnedFd file(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return failed("open(" + fresh + ")", "make its directory writable");
  const auto keeps_owner = [&] {
    struct stat made {};
    return !is_there || fstat(file.get(), &made) != 0 ||
           (made.st_uid == info.st_uid && made.st_gid == info.st_gid) ||
           fchown(file.get(), info.st_uid, info.st_gid) == 0;
  };
  const OwnedFd old(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  Status done;
  if (!keeps_owner()) {
    done = failed("fchown(" + fresh + ")",
                  "it belongs to another user or group: let that one write it");
  } else if (!write_all(file.get(), text) || fchmod(file.get(), mode) != 0 ||
             fsync(file.get()) != 0) {
    done = failed("write(" + path + ")", "make its directory writable");
  } else if (before != nullptr && !is_still(old, path, *before)) {
    done = Error{ErrorCode::kOutputUnwritable,
                 "cannot be written: " + path + ": somebody else has changed it meanwhile", path,
                 "start again with what it is now", ESTALE};
  } else if (rename(fresh.c_str(), path.c_str()) != 0) {
    done = failed("rename(" + path + ")", "make its directory writable");
  }
  if (!done.ok()) unlink(fresh.c_str());
  return done;
}

std::string directory_of(const std::string& file) {
  const std::size_t end = file.rfind('/') + 1;
  const std::string directory = end == 0 ? "." : file.substr(0, end);
  const Result<std::string> real = real_path(directory);
  return real.ok() ? real.value() : directory;
}

Document from_directory(const std::string& directory, Document profile) {
  const auto place = [&](Document& parent) {
    if (!parent.is_string()) return;
    auto name = parent.get<std::string>();
    while (name.starts_with("./")) name.erase(0, 2);
    if (is_profile_path(name) && !name.starts_with('/')) parent = directory + "/" + name;
  };
  const auto parents = profile.find("extends");
  if (directory.empty() || parents == profile.end()) return profile;
  if (!parents->is_array()) place(*parents);
  if (parents->is_array()) std::for_each(parents->begin(), parents->end(), place);
  return profile;
}

bool is_at_terminal() {
  return isatty(STDOUT_FILENO) != 0 &&
         OwnedFd(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)).is_open();
}

bool is_agreed(const std::string& question, int signal_fd) {
  const OwnedFd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal.is_open() || isatty(STDOUT_FILENO) == 0) return false;
  write_all(terminal.get(), escape_control_bytes(question) + "? [y/N] ");
  struct pollfd ready[2] = {{terminal.get(), POLLIN, 0}, {signal_fd, POLLIN, 0}};
  while (poll(ready, 2, -1) < 0 && errno == EINTR) {
  }
  if (ready[0].revents == 0) return false;
  char line[64];
  const ssize_t size = read(terminal.get(), line, sizeof line);
  return size > 0 && line[size - 1] == '\n' && is_yes({line, static_cast<std::size_t>(size - 1)});
}

bool is_wanted(const std::string& file, bool yes, int signal_fd) {
  return yes || is_agreed("Write this to " + file, signal_fd);
}

std::string why_unwritten() {
  return is_at_terminal() ? "not written: you said no" : "nothing is written without --yes";
}

}  // namespace sbx::learn
