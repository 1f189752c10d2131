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
#include <set>

#include "base/by_number.h"
#include "base/files.h"
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

// Not even a copy of it.
bool is_same_record(const BaseRecord& a, const BaseRecord& b) {
  return a.kind == b.kind && a.digest == b.digest;
}

class Stepper {
 public:
  Stepper(const LayerState& state, std::string epoch, const std::vector<Step>& steps, bool back)
      : state_(state),
        epoch_(std::move(epoch)),
        steps_(steps),
        back_(back),
        roots_(open_roots(state)),
        symlinks_(roots_.size()),
        old_(open((epoch_ + "/old").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    for (const Step& step : steps_) {
      if (to_of(step).kind == BaseRecord::kLink) symlinks_.at(step.root).insert(step.path);
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

  // A directory has its time when all is in it, a file that only gets another mode when it has
  // that. What fails here changes no file.
  void keep_time(std::size_t number) {
    const Step& step = steps_[number];
    number_ = number;
    const BaseRecord& to = to_of(step);
    struct stat kept {};
    const bool is_file = to.kind == BaseRecord::kFile && is_same_record(step.from, step.to);
    if ((to.kind != BaseRecord::kDirectory && !is_file) || only_lends_name(step) ||
        lstat(kept_path().c_str(), &kept) != 0 || S_ISDIR(kept.st_mode) == is_file) {
      return;
    }
    const OwnedFd real(
        open_beneath(roots_.at(step.root).get(), step.path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    const bool is_there = real.is_open() && fstat(real.get(), &info) == 0 &&
                          (is_file ? S_ISREG(info.st_mode) && (info.st_mode & 07777) == to.mode
                                   : S_ISDIR(info.st_mode));
    const struct timespec times[2] = {kept.st_atim, kept.st_mtim};
    if (is_there) utimensat(AT_FDCWD, by_number(real.get()).c_str(), times, 0);
  }

  Paths& anew() { return anew_; }

  Status may_take_all() {
    for (std::size_t i = 0; i < steps_.size(); ++i) SBX_CHECK_OK(may_take(i));
    return {};
  }

 private:
  const BaseRecord& from_of(const Step& step) const { return back_ ? step.to : step.from; }
  const BaseRecord& to_of(const Step& step) const { return back_ ? step.from : step.to; }

  // Whether the directory lets the step be taken. One that is not there yet is made by a step.
  Status may_take(std::size_t number) {
    const Step& step = steps_[number];
    const BaseRecord& from = from_of(step);
    const BaseRecord& to = to_of(step);
    path_ = state_.roots.at(step.root) + "/" + step.path;
    directory_ = open_parent(roots_.at(step.root).get(), step.path, name_);
    if (!directory_.is_open()) return {};
    struct stat above {};
    struct stat info {};
    const bool is_there = fstatat(directory_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    const bool is_own = !is_there || geteuid() == 0 || info.st_uid == geteuid();
    const bool stays = from.kind == BaseRecord::kDirectory && to.kind == BaseRecord::kDirectory;
    if ((stays && is_there) || is_same_record(from, to)) {
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
    if (only_lends_name(step)) return {};
    number_ = number;
    path_ = state_.roots.at(step.root) + "/" + step.path;
    const BaseRecord& from = from_of(step);
    const BaseRecord& to = to_of(step);
    directory_ = open_parent(roots_.at(step.root).get(), step.path, name_);
    // Taken back before the directory was made.
    const bool never_was =
        back_ && from.kind == BaseRecord::kDirectory && to.kind == BaseRecord::kDirectory;
    if (!directory_.is_open()) {
      const bool has_no_way = is_missing(errno);
      const bool is_elsewhere = errno == ELOOP;
      // Below the symlink that a step has made of the directory.
      const bool is_gone =
          has_no_way || (is_elsewhere && lies_below_any(step.path, symlinks_.at(step.root)));
      if (is_gone && (to.kind == BaseRecord::kAbsent || never_was)) return {};
      return has_no_way || is_elsewhere ? changed() : failed("open the directory of");
    }
    temporary_ = ".sbx-" + epoch_.substr(epoch_.rfind('/') + 1) + "-" + std::to_string(number);
    SBX_CHECK_OK(clear_temporary(from, to));
    const BaseRecord now = look(from, to);
    // A large file of the same size and time as its copy is to have is not that copy yet.
    const bool is_former = is_same_record(from, now) && !is_same_record(from, to);
    if (is_in_state(to, now) && !is_former) return {};
    if (never_was && now.kind != BaseRecord::kDirectory) return {};
    if (to.kind == BaseRecord::kDirectory) return make_directory(now, from, to);
    const bool is_between = now.kind == BaseRecord::kAbsent && from.kind != to.kind;
    if (!is_same_content(from, now) && !is_between) return changed();
    if (to.kind == BaseRecord::kAbsent) return remove(now);
    if (is_same_record(from, to)) return is_as_seen(name_) ? set_mode(to) : changed();
    if (now.kind == BaseRecord::kDirectory) SBX_CHECK_OK(remove(now));
    SBX_CHECK_OK(stage(step, to));
    return replace(now.kind == BaseRecord::kAbsent || now.kind == BaseRecord::kDirectory);
  }

  // Before it is read it is noted: what is taken out must be that. What its owner may not read is
  // opened where it is nothing else that a step knows.
  BaseRecord look(const BaseRecord& from, const BaseRecord& to) {
    const auto see = [&] {
      seen_ = {};
      fstatat(directory_.get(), name_.c_str(), &seen_, AT_SYMLINK_NOFOLLOW);
    };
    see();
    BaseRecord now = look_at_real(directory_.get(), name_);
    if (!is_closed(now) || is_same_content(from, now) || is_same_content(to, now)) return now;
    const OwnedFd file = open_own(directory_.get(), name_);
    struct stat info {};
    see();
    if (fstat(file.get(), &info) == 0 && info.st_dev == seen_.st_dev &&
        info.st_ino == seen_.st_ino) {
      now.digest = digest_of(file.get());
    }
    return now;
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
    return call_failed(ErrorCode::kSetupFailed,
                       "cannot " + call + " " + escape_control_bytes(path_), path_, hint, error);
  }
  Error changed() const {
    return Error{
        ErrorCode::kLayerConflict,
        "changed by somebody else while it was being committed: " + escape_control_bytes(path_),
        path_, "sbx-run layer commit NAME --undo takes the commit back", 0};
  }

  // One that was left by a kill: what we wrote ourselves, or what a step took out.
  Status clear_temporary(const BaseRecord& from, const BaseRecord& to) {
    const BaseRecord left = look_at_real(directory_.get(), temporary_);
    if (left.kind == BaseRecord::kAbsent) return {};
    struct stat info {};
    const bool is_ours =
        fstatat(directory_.get(), temporary_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        (info.st_mode & 07777) == 0600 && S_ISREG(info.st_mode);
    if (!is_ours && !is_same_content(from, left) && !is_same_content(to, left)) {
      if (put_back()) return {};
      path_ = path_.substr(0, path_.rfind('/') + 1) + temporary_;
      return changed();
    }
    return unlinkat(directory_.get(), temporary_.c_str(), 0) == 0 ? Status() : failed("remove");
  }

  // What is at the name is still what was looked at. A rename gives it another change time.
  bool is_as_seen(const std::string& name, bool is_renamed = false) const {
    struct stat info {};
    return fstatat(directory_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           info.st_dev == seen_.st_dev && info.st_ino == seen_.st_ino &&
           info.st_mode == seen_.st_mode && info.st_size == seen_.st_size &&
           is_same_time(info.st_mtim, seen_.st_mtim) &&
           (is_renamed || is_same_time(info.st_ctim, seen_.st_ctim));
  }
  static bool is_same_time(const struct timespec& a, const struct timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  }

  bool put_back() const {
    return renameat2(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str(),
                     RENAME_NOREPLACE) == 0;
  }

  // A file is taken out, and is gone only if it is what was looked at.
  Status remove(const BaseRecord& now) {
    const int dir = directory_.get();
    if (now.kind == BaseRecord::kDirectory) {
      if (unlinkat(dir, name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
      return errno == ENOTEMPTY || errno == EEXIST ? changed() : failed("remove");
    }
    if (!is_as_seen(name_)) return changed();
    if (renameat2(dir, name_.c_str(), dir, temporary_.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno == ENOENT) return changed();
      return errno == EINVAL && unlinkat(dir, name_.c_str(), 0) == 0 ? Status() : failed("remove");
    }
    if (!is_as_seen(temporary_, true)) {
      put_back();
      return changed();
    }
    return unlinkat(dir, temporary_.c_str(), 0) == 0 ? Status() : failed("remove");
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
    return give_access(open_like().get(), file.get(), to.mode) ? Status() : failed("chmod");
  }

  // Of whose access lists: a copy of the tree has none, there the real file's own stay.
  OwnedFd open_like() const {
    constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    return OwnedFd(back_ || state_.kind == KeptKind::kOverlay
                       ? open(kept_path().c_str(), kFlags)
                       : openat(directory_.get(), name_.c_str(), kFlags));
  }

  Status stage(const Step& step, const BaseRecord& to) {
    const std::string source = kept_path();
    // The same FIFO, socket or device; and the very file or symlink, with its owner and its other
    // names.
    const bool is_special = to.kind == BaseRecord::kOther;
    if (is_special ||
        (back_ && is_in_state(to, look_at_real(old_.get(), std::to_string(number_))))) {
      if (linkat(AT_FDCWD, source.c_str(), directory_.get(), temporary_.c_str(), 0) == 0) return {};
      if (is_special) return failed("put back");
    }
    if (to.kind == BaseRecord::kLink) {
      return copy_link(AT_FDCWD, source, directory_.get(), temporary_) ? Status()
                                                                       : failed("make the symlink");
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
    if (back_ && (!keep_owner(info, target.get()) || info.st_nlink > 1)) anew_.push_back(path_);
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    // Its mode is the last: until then it is known as ours.
    if (futimens(target.get(), times) != 0 ||
        !give_access(open_like().get(), target.get(), to.mode)) {
      return failed("chmod");
    }
    return {};
  }

  // What is looked at is what is linked: its path may lead elsewhere by then.
  bool link_to(const Step& first, const BaseRecord& to) {
    const OwnedFd file(open_beneath(roots_.at(first.root).get(), first.path,
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat info {};
    return file.is_open() && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
           is_in_state(to, {BaseRecord::kFile, info.st_mode & 07777, digest_of(file.get())}) &&
           link_open(file.get(), directory_.get(), temporary_);
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
    struct stat ours {};
    struct stat out {};
    if (fstatat(dir, temporary, &ours, AT_SYMLINK_NOFOLLOW) != 0) return failed("look at");
    if (!is_as_seen(name_)) {
      unlinkat(dir, temporary, 0);
      return changed();
    }
    if (renameat2(dir, temporary, dir, name, RENAME_EXCHANGE) != 0) {
      return errno == EINVAL && renameat(dir, temporary, dir, name) == 0 ? Status()
                                                                         : failed("replace");
    }
    if (!is_as_seen(temporary_, true)) {
      renameat2(dir, temporary, dir, name, RENAME_EXCHANGE);
      // Not what took its place once more.
      if (fstatat(dir, temporary, &out, AT_SYMLINK_NOFOLLOW) == 0 && out.st_ino == ours.st_ino) {
        unlinkat(dir, temporary, 0);
      }
      return changed();
    }
    return unlinkat(dir, temporary, 0) == 0 ? Status() : failed("remove what stood for");
  }

  const LayerState& state_;
  std::string epoch_;
  const std::vector<Step>& steps_;
  bool back_;
  std::vector<OwnedFd> roots_;
  std::vector<std::set<std::string>> symlinks_;  // of each root: what becomes one
  OwnedFd old_;
  Paths anew_;
  struct stat seen_ {};
  std::size_t number_ = 0;
  std::string path_;
  std::string name_;
  std::string temporary_;
  OwnedFd directory_;
};

}  // namespace

bool is_closed(const BaseRecord& record) {
  return record.kind == BaseRecord::kFile && (record.mode & 0400) == 0;
}

bool is_in_state(const BaseRecord& wanted, const BaseRecord& is) {
  if (!is_same_content(wanted, is)) return false;
  return wanted.kind == BaseRecord::kAbsent || wanted.kind == BaseRecord::kLink ||
         wanted.mode == is.mode;
}

bool only_lends_name(const Step& step) {
  return step.from.kind == BaseRecord::kFile && is_in_state(step.from, step.to);
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
                  Paths& anew, Paths* left) {
  Stepper stepper(state, epoch, steps, true);
  if (left == nullptr) SBX_CHECK_OK(stepper.may_take_all());
  for (std::size_t i = steps.size(); i-- > 0;) SBX_CHECK_OK(stepper.take(i, left));
  for (std::size_t i = steps.size(); i-- > 0;) stepper.keep_time(i);
  anew = std::move(stepper.anew());
  return {};
}

Status may_take_all(const LayerState& state, const std::vector<Step>& steps, bool back) {
  return Stepper(state, "", steps, back).may_take_all();
}

}  // namespace sbx
