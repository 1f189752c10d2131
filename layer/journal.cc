// SPDX-License-Identifier: Apache-2.0
// Real files are reached beneath their root by descriptor, never through a symlink, and replaced by
// rename: at no moment is one half written.
#include "journal.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/owned_fd.h"
#include "base/text.h"
#include "host_files/user_attributes.h"
#include "kept/copy.h"
#include "kept/merged.h"
#include "kept/store.h"
#include "touched.h"

namespace sbx {
namespace {

constexpr std::string_view kMark = "sbx-journal 1";

class Stepper {
 public:
  Stepper(const LayerState& state, std::string epoch, const std::vector<Step>& steps, bool back)
      : state_(state), epoch_(std::move(epoch)), steps_(steps), back_(back) {
    for (const std::string& root : state_.roots) {
      roots_.emplace_back(open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
  }

  Status take(std::size_t number, Paths* left) {
    Status status = take(number);
    if (status.ok() || left == nullptr || status.error().code != ErrorCode::kLayerConflict) {
      return status;
    }
    if (left->empty() || left->back() != path_) left->push_back(path_);
    return {};
  }

  // A directory has its time when all is in it. What fails here changes no file.
  void keep_time(std::size_t number) {
    const Step& step = steps_[number];
    number_ = number;
    struct stat kept {};
    if ((back_ ? step.from : step.to).kind != BaseRecord::kDirectory ||
        lstat(kept_path().c_str(), &kept) != 0 || !S_ISDIR(kept.st_mode)) {
      return;
    }
    const OwnedFd directory(open_beneath(roots_.at(step.root).get(), step.path,
                                         O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const struct timespec times[2] = {kept.st_atim, kept.st_mtim};
    const std::string by_number = "/proc/self/fd/" + std::to_string(directory.get());
    if (directory.is_open()) utimensat(AT_FDCWD, by_number.c_str(), times, 0);
  }

  // Before the first step is taken: what has been taken could be given back, but not to another
  // owner.
  Status may_take_all() {
    for (std::size_t i = 0; i < steps_.size(); ++i) SBX_CHECK_OK(may_take(i));
    return {};
  }

 private:
  // Whether the directory lets the step be taken. One that is not there yet is made by a step.
  Status may_take(std::size_t number) {
    const Step& step = steps_[number];
    const BaseRecord& from = back_ ? step.to : step.from;
    const BaseRecord& to = back_ ? step.from : step.to;
    path_ = state_.roots.at(step.root) + "/" + step.path;
    directory_ = open_parent(roots_.at(step.root).get(), step.path, name_);
    if (!directory_.is_open()) return {};
    struct stat above {};
    struct stat info {};
    const bool is_there = fstatat(directory_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    const bool is_own = !is_there || geteuid() == 0 || info.st_uid == geteuid();
    const bool stays = from.kind == BaseRecord::kDirectory && to.kind == BaseRecord::kDirectory;
    if ((stays && is_there) || is_same_content(from, to)) {
      if (is_own || from.mode == to.mode) return {};
      errno = EPERM;
      return failed("chmod");
    }
    if (fstat(directory_.get(), &above) != 0) return failed("look at the directory of");
    if (above.st_uid == geteuid()) return {};  // a step before may open it
    if (faccessat(directory_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      return failed("write in the directory of");
    }
    if (is_own || (above.st_mode & S_ISVTX) == 0) return {};
    errno = EPERM;
    return failed("replace or remove");
  }

  Status take(std::size_t number) {
    const Step& step = steps_[number];
    number_ = number;
    path_ = state_.roots.at(step.root) + "/" + step.path;
    const BaseRecord& from = back_ ? step.to : step.from;
    const BaseRecord& to = back_ ? step.from : step.to;
    const int root = roots_.at(step.root).get();
    const std::size_t slash = step.path.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : step.path.substr(0, slash);
    directory_ = open_parent(root, step.path, name_);
    // Taken back before the directory was made.
    const bool never_was =
        back_ && from.kind == BaseRecord::kDirectory && to.kind == BaseRecord::kDirectory;
    if (!directory_.is_open()) {
      const bool is_gone =
          (to.kind == BaseRecord::kAbsent || never_was) && (errno == ENOENT || errno == ENOTDIR);
      if (is_gone) return {};
      const bool is_changed = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
      return is_changed ? changed() : failed("open the directory of");
    }
    temporary_ = ".sbx-" + epoch_.substr(epoch_.rfind('/') + 1) + "-" + std::to_string(number);
    SBX_CHECK_OK(clear_temporary(root, parent, from, to));
    const BaseRecord now = look_at_real(root, step.path);
    if (is_in_state(to, now)) return {};
    if (never_was && now.kind != BaseRecord::kDirectory) return {};
    if (to.kind == BaseRecord::kDirectory) return make_directory(now, from, to);
    const bool is_between = now.kind == BaseRecord::kAbsent && from.kind != to.kind;
    if (!is_same_content(from, now) && !is_between) return changed();
    if (to.kind == BaseRecord::kAbsent) return remove(now);
    if (is_same_content(from, to)) return set_mode(to);
    if (now.kind == BaseRecord::kDirectory) SBX_CHECK_OK(remove(now));
    SBX_CHECK_OK(stage(step, to));
    return replace(now.kind == BaseRecord::kAbsent || now.kind == BaseRecord::kDirectory);
  }

  std::string kept_path() const {
    return epoch_ + (back_ ? "/old/" : "/new/") + std::to_string(number_);
  }

  Error failed(const std::string& call) const {
    const int error = errno;
    const char* const hint = error == ENOSPC || error == EDQUOT ? "free some space"
                             : error == EACCES || error == EPERM
                                 ? "make it, and its directory, yours to write"
                                 : "";
    return Error{ErrorCode::kSetupFailed,
                 "cannot " + call + " " + escape_control_bytes(path_) + ": " + errno_text(error),
                 path_, hint, error};
  }
  Error changed() const {
    return Error{
        ErrorCode::kLayerConflict,
        "changed by somebody else while it was being committed: " + escape_control_bytes(path_),
        path_, "sbx-run layer commit NAME --undo takes the commit back", 0};
  }

  // One that was left by a kill: what we wrote ourselves, or what a step took out.
  Status clear_temporary(int root, const std::string& parent, const BaseRecord& from,
                         const BaseRecord& to) {
    const std::string path = parent == "." ? temporary_ : parent + "/" + temporary_;
    const BaseRecord left = look_at_real(root, path);
    if (left.kind == BaseRecord::kAbsent) return {};
    struct stat info {};
    const bool is_ours =
        fstatat(directory_.get(), temporary_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        (info.st_mode & 07777) == 0600 && S_ISREG(info.st_mode);
    if (!is_ours && !is_same_content(from, left) && !is_same_content(to, left)) {
      path_ = path_.substr(0, path_.rfind('/') + 1) + temporary_;
      return changed();
    }
    return unlinkat(directory_.get(), temporary_.c_str(), 0) == 0 ? Status() : failed("remove");
  }

  Status remove(const BaseRecord& now) {
    const int flags = now.kind == BaseRecord::kDirectory ? AT_REMOVEDIR : 0;
    if (unlinkat(directory_.get(), name_.c_str(), flags) == 0 || errno == ENOENT) return {};
    return errno == ENOTEMPTY || errno == EEXIST ? changed() : failed("remove");
  }

  Status make_directory(const BaseRecord& now, const BaseRecord& from, const BaseRecord& to) {
    if (now.kind != BaseRecord::kDirectory) {
      if (now.kind != BaseRecord::kAbsent && !is_same_content(from, now)) return changed();
      if (now.kind != BaseRecord::kAbsent) SBX_CHECK_OK(remove(now));
      if (mkdirat(directory_.get(), name_.c_str(), 0700) != 0) return failed("make");
    }
    if (from.digest != to.digest) {
      const OwnedFd kept(open(kept_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      const OwnedFd made(openat(directory_.get(), name_.c_str(), kDirectoryFlags));
      if (!kept.is_open() || !made.is_open()) return failed("give its attributes to");
      copy_user_attributes(kept.get(), made.get());
    }
    return set_mode(to);
  }

  Status set_mode(const BaseRecord& to) {
    const OwnedFd file(openat(directory_.get(), name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return failed("open");
    const std::string by_number = "/proc/self/fd/" + std::to_string(file.get());
    return chmod(by_number.c_str(), to.mode) == 0 ? Status() : failed("chmod");
  }

  Status stage(const Step& step, const BaseRecord& to) {
    const std::string source = kept_path();
    if (to.kind == BaseRecord::kLink) {
      return copy_link(AT_FDCWD, source, directory_.get(), temporary_) ? Status()
                                                                       : failed("make the symlink");
    }
    // The same FIFO, socket or device.
    if (to.kind == BaseRecord::kOther) {
      return linkat(AT_FDCWD, source.c_str(), directory_.get(), temporary_.c_str(), 0) == 0
                 ? Status()
                 : failed("put back");
    }
    if (!back_ && step.link >= 0 && link_to(steps_.at(static_cast<std::size_t>(step.link)), to)) {
      return {};
    }
    const OwnedFd from = open_own(AT_FDCWD, source);
    if (!from.is_open()) {
      return layer_failure("cannot read what is kept of " + escape_control_bytes(path_), errno);
    }
    const OwnedFd target(openat(directory_.get(), temporary_.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    struct stat info {};
    if (!target.is_open() || fstat(from.get(), &info) != 0 ||
        !copy_bytes(from.get(), target.get())) {
      return failed("write");
    }
    copy_user_attributes(from.get(), target.get());
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    // Its mode is the last: until then it is known as ours.
    if (futimens(target.get(), times) != 0 || fchmod(target.get(), to.mode) != 0) {
      return failed("chmod");
    }
    return {};
  }

  bool link_to(const Step& first, const BaseRecord& to) {
    const int root = roots_.at(first.root).get();
    if (!is_in_state(to, look_at_real(root, first.path))) return false;
    return linkat(root, first.path.c_str(), directory_.get(), temporary_.c_str(), 0) == 0;
  }

  // What is taken out must be what was looked at: else it is put back.
  Status replace(bool is_new) {
    const int dir = directory_.get();
    const char* const temporary = temporary_.c_str();
    const char* const name = name_.c_str();
    if (is_new) {
      if (renameat2(dir, temporary, dir, name, RENAME_NOREPLACE) == 0) return {};
      if (errno == EEXIST) return changed();
      return errno == EINVAL && renameat(dir, temporary, dir, name) == 0 ? Status()
                                                                         : failed("make");
    }
    struct stat before {};
    struct stat out {};
    if (fstatat(dir, name, &before, AT_SYMLINK_NOFOLLOW) != 0) return failed("look at");
    if (renameat2(dir, temporary, dir, name, RENAME_EXCHANGE) != 0) {
      return errno == EINVAL && renameat(dir, temporary, dir, name) == 0 ? Status()
                                                                         : failed("replace");
    }
    const bool is_it = fstatat(dir, temporary, &out, AT_SYMLINK_NOFOLLOW) == 0 &&
                       out.st_ino == before.st_ino && out.st_size == before.st_size &&
                       out.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
    if (!is_it) {
      renameat2(dir, temporary, dir, name, RENAME_EXCHANGE);
      unlinkat(dir, temporary, 0);
      return changed();
    }
    return unlinkat(dir, temporary, 0) == 0 ? Status() : failed("remove what stood for");
  }

  const LayerState& state_;
  std::string epoch_;
  const std::vector<Step>& steps_;
  bool back_;
  std::vector<OwnedFd> roots_;
  std::size_t number_ = 0;
  std::string path_;
  std::string name_;
  std::string temporary_;
  OwnedFd directory_;
};

}  // namespace

bool is_in_state(const BaseRecord& wanted, const BaseRecord& is) {
  if (wanted.kind != is.kind || wanted.digest != is.digest) return false;
  return wanted.kind == BaseRecord::kAbsent || wanted.kind == BaseRecord::kLink ||
         wanted.mode == is.mode;
}

// Two base records a step, the second behind the number of the step that it is linked to.
std::string encode_journal(const std::vector<Step>& steps) {
  std::string text(kMark);
  text += '\0';
  for (const Step& step : steps) {
    BaseRecord to = step.to;
    to.stamp = step.link;
    text += encode_base_record(step.root, step.path, step.from);
    text += encode_base_record(step.root, step.path, to);
  }
  return text;
}

Result<std::vector<Step>> decode_journal(std::string_view text, std::size_t roots) {
  const Error damaged{ErrorCode::kSetupFailed, "the journal of the commit is damaged", "layer",
                      "nothing was done with it"};
  std::vector<std::string_view> records = split(text, '\0');
  if (records.size() < 2 || records[0] != kMark || !records.back().empty() ||
      records.size() % 2 != 0) {
    return damaged;
  }
  std::vector<Step> steps;
  for (std::size_t i = 1; i + 2 < records.size(); i += 2) {
    Step step;
    std::size_t root = 0;
    std::string path;
    if (!decode_base_record(records[i], step.root, step.path, step.from) ||
        !decode_base_record(records[i + 1], root, path, step.to) || root != step.root ||
        path != step.path || step.root >= roots) {
      return damaged;
    }
    step.link = step.to.stamp;
    step.to.stamp = 0;
    if (step.link >= static_cast<std::int64_t>(steps.size())) return damaged;
    steps.push_back(std::move(step));
  }
  return steps;
}

Status do_steps(const LayerState& state, const std::string& epoch, const std::vector<Step>& steps,
                Paths* left) {
  Stepper stepper(state, epoch, steps, false);
  if (left == nullptr) SBX_CHECK_OK(stepper.may_take_all());
  for (std::size_t i = 0; i < steps.size(); ++i) SBX_CHECK_OK(stepper.take(i, left));
  for (std::size_t i = 0; i < steps.size(); ++i) stepper.keep_time(i);
  return {};
}

Status undo_steps(const LayerState& state, const std::string& epoch, const std::vector<Step>& steps,
                  Paths* left) {
  Stepper stepper(state, epoch, steps, true);
  if (left == nullptr) SBX_CHECK_OK(stepper.may_take_all());
  for (std::size_t i = steps.size(); i-- > 0;) SBX_CHECK_OK(stepper.take(i, left));
  for (std::size_t i = steps.size(); i-- > 0;) stepper.keep_time(i);
  return {};
}

}  // namespace sbx
