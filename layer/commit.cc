// SPDX-License-Identifier: Apache-2.0
// A layer's changes → steps on the real files, all or none; and back.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "action.h"
#include "base/by_number.h"
#include "base/files.h"
#include "base/text.h"
#include "base/utf8.h"
#include "epochs.h"
#include "git_names.h"
#include "host/git_use.h"
#include "host/globs.h"
#include "journal.h"
#include "kept/copy.h"
#include "kept/merged.h"
#include "links.h"
#include "pending.h"
#include "touched.h"
#include "undo.h"

namespace sbx {
namespace {

bool is_any_below(const std::string& path, const std::vector<std::string>& tops) {
  return std::any_of(tops.begin(), tops.end(),
                     [&](const std::string& top) { return is_below(path, top); });
}

// The directories that it lies in, the nearest first.
template <typename Visit>
void each_holder(const TouchedKey& key, Visit visit) {
  for (std::size_t at = key.second.rfind('/'); at != std::string::npos && at != 0;
       at = key.second.rfind('/', at - 1)) {
    visit(TouchedKey{key.first, key.second.substr(0, at)});
  }
}

class Commit {
 public:
  Commit(const Action& action, KeptLayer& layer)
      : action_(action), layer_(layer), state_(layer.state()), roots_(open_roots(state_)) {}

  Done run() {
    bool is_whole = false;
    TouchedMap unchanged;
    touched_ = collect_touched(layer_, is_whole, &opened_, &unchanged);
    links_.emplace(layer_, roots_, touched_, std::move(unchanged),
                   [this](const TouchedKey& key, const Touched& touched) {
                     return why_not(key, touched, true) == nullptr;
                   });
    if (!is_whole) {
      return Refusal{Error{ErrorCode::kPathRefused,
                           "the layer holds paths that are too long or too deep to be committed",
                           "layer", "remove them in a run with the layer, or discard it"},
                     {}};
    }
    // What no run has seen is in nobody's way only if it is said so.
    for (const TouchedKey& key : add_strangers(state_, touched_)) {
      touched_.at(key).base.kind = BaseRecord::kUnknown;
    }
    if (Status status = choose(); !status.ok()) return Refusal{status.error(), {}};
    if (action_.arguments.empty()) warnings_ = root_warnings(layer_);
    refuse_special();
    if (!refused_.empty()) return refusal("may not be committed", "commit the others by name");
    plan();
    if (!conflicts_.empty()) {
      return refusal("changed since the layer first touched them",
                     is_any_unseen_
                         ? "--ours PATH keeps the real one; what cannot be seen can only be kept"
                         : "--theirs PATH takes the layer's, --ours PATH keeps the real one");
    }
    order();
    if (action_.dry_run) {
      const Status status = may_take_all(state_, steps_, false);
      return status.ok() ? answer() : Done(Refusal{status.error(), {}});
    }
    const bool is_empty = steps_.empty() && dropped_.empty();  // nothing to commit and to undo
    const GitUse git = is_empty ? GitUse() : git_use();
    const Status status = is_empty ? forget_settled(layer_, touched_, give_up()) : carry_out();
    if (!status.ok()) return Refusal{status.error(), {}};
    if (!is_empty) warn_of_git(git);
    return answer();
  }

 private:
  std::string where(const TouchedKey& key) const { return absolute_path(state_, key); }

  Status choose() {
    std::set<std::string> unused(action_.arguments.begin(), action_.arguments.end());
    unused.insert(action_.ours.begin(), action_.ours.end());
    unused.insert(action_.theirs.begin(), action_.theirs.end());
    std::set<std::string> outside(action_.ours.begin(), action_.ours.end());
    outside.insert(action_.theirs.begin(), action_.theirs.end());
    for (const auto& [key, touched] : touched_) {
      const std::string path = where(key);
      const auto holds = [&](const std::string& name) { return is_below(path, name); };
      std::erase_if(unused, holds);
      if (!action_.arguments.empty() && !is_any_below(path, action_.arguments)) continue;
      std::erase_if(outside, holds);
      const bool is_ours = is_any_below(path, action_.ours);
      if (is_ours && is_any_below(path, action_.theirs)) {
        return Error{ErrorCode::kBadValue,
                     "both --ours and --theirs are said of " + escape_control_bytes(path), "--ours",
                     "choose one of them"};
      }
      if (is_ours) {
        dropped_.insert(key);
      } else {
        chosen_.insert(key);
      }
    }
    if (!unused.empty()) {
      return Error{ErrorCode::kPathNotFound,
                   "the layer changes nothing at " + escape_control_bytes(*unused.begin()), "PATH",
                   "sbx-run layer diff NAME --name-only lists what it changes"};
    }
    if (!outside.empty()) {
      return Error{ErrorCode::kBadValue,
                   "not among the PATHs to commit: " + escape_control_bytes(*outside.begin()),
                   "--ours, --theirs", "name it as a PATH too, or leave the PATHs out"};
    }
    keep_holders();
    add_parents();
    return {};
  }

  // A real file that stays keeps the directories that it lies in.
  void keep_holders() {
    for (const TouchedKey& key : std::set<TouchedKey>(dropped_)) {
      struct stat info {};
      if (!stat_beneath(roots_.at(key.first).get(), key.second, info)) continue;
      each_holder(key, [&](const TouchedKey& holder) {
        if (!chosen_.contains(holder)) return;
        const char now = touched_.at(holder).now.kind;
        if (now == BaseRecord::kDirectory) return;
        chosen_.erase(holder);
        dropped_.insert(holder);
        if (now == BaseRecord::kAbsent) return;
        warnings_.push_back("stays a directory, for what is kept in it: " +
                            repair_utf8(where(holder)));
      });
    }
  }

  // New directories on the way to what is committed; to what is taken whatever has become of the
  // real file, also those that are real directories no more.
  void add_parents() {
    for (const TouchedKey& key : std::set<TouchedKey>(chosen_)) {
      const bool is_forced = is_any_below(where(key), action_.theirs) &&
                             touched_.at(key).now.kind != BaseRecord::kAbsent;
      each_holder(key, [&](const TouchedKey& parent) {
        const auto found = touched_.find(parent);
        if (found != touched_.end() && found->second.base.kind != BaseRecord::kDirectory) {
          chosen_.insert(parent);
        }
        if (!is_forced) return;
        const char real = look_at_real(roots_.at(parent.first).get(), parent.second).kind;
        if (real == BaseRecord::kDirectory || real == BaseRecord::kUnknown) return;
        if (found == touched_.end()) touched_.emplace(parent, shown_directory(layer_, parent));
        chosen_.insert(parent);
        forced_.insert(parent);
      });
    }
  }

  void refuse_special() {
    for (const TouchedKey& key : chosen_) {
      const Touched& touched = touched_.at(key);
      const std::string path = repair_utf8(where(key));
      if (const char* const what = why_not(key, touched)) {
        refused_.push_back({path, what});
      } else if (why_not(key, touched, true) != nullptr) {
        warnings_.push_back("protected where it is there: " + path);
      }
    }
  }

  // Null: it may be committed. `strictly`: also what is only reported may not.
  const char* why_not(const TouchedKey& key, const Touched& touched, bool strictly = false) const {
    const std::string path = where(key);
    const auto holds = [&](const std::string& top) {
      return is_below(path, top) ||
             (touched.now.kind != BaseRecord::kDirectory && is_below(top, path));
    };
    const auto any = [&](const std::vector<std::string>& tops) {
      return std::any_of(tops.begin(), tops.end(), holds);
    };
    const std::string& root = state_.roots[key.first];
    const auto& now = action_.writable;
    const bool is_writable = std::find(now.begin(), now.end(), root) != now.end();
    const auto narrows = [&](const std::vector<std::string>& asked,
                             const std::vector<std::string>& known) {
      return is_narrowed(asked, root, is_writable, holds) || is_narrowed(known, root, true, holds);
    };
    if (touched.now.kind == BaseRecord::kOther || touched.now.kind == BaseRecord::kUnknown) {
      return "special";
    }
    if (any(action_.protects) || any(state_.protects) ||
        any_glob_holds(action_.protect_globs, path) || any_glob_holds(state_.protect_globs, path)) {
      return "protected";
    }
    if (narrows(action_.hidden, state_.hidden) || any_glob_holds(action_.hidden_globs, path) ||
        any_glob_holds(state_.hidden_globs, path)) {
      return "hidden";
    }
    if (narrows(action_.read_only, state_.read_only)) return "read-only";
    return strictly && any(action_.reported) ? "reported" : nullptr;
  }

  // What git goes by in the real roots; nothing, where the policy holds nothing of git's.
  GitUse git_use() const {
    const auto holds_git = [](const std::vector<std::string>& paths) {
      return std::any_of(paths.begin(), paths.end(), is_gits_own);
    };
    if (!holds_git(action_.protects) && !holds_git(action_.reported)) return {};
    std::vector<ViewRoot> roots;
    for (const std::string& root : state_.roots) {
      ViewRoot& shown = roots.emplace_back();
      shown.node = {root, NodeKind::kDirectory};
      shown.access = Access::kReadWrite;
    }
    return look_at_git(roots);
  }

  void warn_of_git(const GitUse& before) {
    for (const std::string& path : git_changes(before, git_use())) {
      if (is_any_below(path, action_.reported)) continue;  // a warning says so
      warnings_.push_back("git goes by it now: " + repair_utf8(path));
    }
  }

  void conflict(const TouchedKey& key) {
    conflicts_.push_back({repair_utf8(where(key)), "conflict"});
  }

  void plan() {
    for (const TouchedKey& key : chosen_) {
      const Touched& touched = touched_.at(key);
      const int root = roots_.at(key.first).get();
      Step step{key.first, key.second, look_at_real(root, key.second), touched.now};
      step.to.mode = mode_to_be(state_, key, touched, root);
      step.to.stamp = 0;
      if (is_same_file(step.from, step.to)) {
        settled_.insert(key);
        continue;
      }
      const bool is_forced = forced_.contains(key) || is_any_below(where(key), action_.theirs);
      // What cannot be seen could not be put back.
      const bool is_seen = step.from.kind != BaseRecord::kUnknown;
      is_any_unseen_ = is_any_unseen_ || !is_seen;
      if (!is_seen || (!is_forced && !is_same_content(touched.base, step.from))) {
        conflict(key);
        continue;
      }
      if (!has_parent(key, root)) {
        conflict(key);
        continue;
      }
      links_->note(step, touched);
      steps_.push_back(std::move(step));
    }
    for (const auto& [key, touched] : links_->real()) {
      steps_.push_back({key.first, key.second, touched.base, touched.base});
      touched_.insert_or_assign(key, touched);
    }
    links_->warn(warnings_);
  }

  bool has_parent(const TouchedKey& key, int root) {
    if (touched_.at(key).now.kind == BaseRecord::kAbsent) return true;
    const std::size_t slash = key.second.rfind('/');
    if (slash == std::string::npos) return true;
    const std::string parent = key.second.substr(0, slash);
    if (chosen_.contains({key.first, parent})) return true;
    struct stat info {};
    return stat_beneath(root, parent, info) && S_ISDIR(info.st_mode);
  }

  // The caller's own real directories that it may not write in, and in which names come or go: open
  // from before the first step to after the last.
  std::map<TouchedKey, BaseRecord> closed_parents() const {
    std::map<TouchedKey, BaseRecord> out;
    for (const Step& step : steps_) {
      const std::size_t slash = step.path.rfind('/');
      const bool keeps_name =
          step.from.kind == step.to.kind &&
          (step.to.kind == BaseRecord::kDirectory || is_same_content(step.from, step.to));
      if (slash == std::string::npos || keeps_name) continue;
      const TouchedKey parent{step.root, step.path.substr(0, slash)};
      if (out.contains(parent)) continue;
      const int root = roots_.at(step.root).get();
      const OwnedFd fd(open_beneath(root, parent.second, O_PATH | O_NOFOLLOW | O_CLOEXEC));
      struct stat info {};
      if (!fd.is_open() || fstat(fd.get(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
      if (info.st_uid == geteuid() && access(by_number(fd.get()).c_str(), W_OK) != 0 &&
          errno == EACCES) {
        out.emplace(parent, look_at_real(root, parent.second));
      }
    }
    return out;
  }

  // Removals from the deepest on, then directories from the top, then files, those first that only
  // get another mode, of which others may be names; then the modes of directories, which may close
  // them.
  void order() {
    const std::map<TouchedKey, BaseRecord> closed = closed_parents();
    std::vector<Step> opens;
    std::vector<Step> stay;
    std::vector<Step> gone;
    std::vector<Step> made;
    std::vector<Step> modes;
    std::set<TouchedKey> own;  // their step says what becomes of them
    for (Step& step : steps_) {
      if (closed.contains({step.root, step.path})) {
        step.from.mode |= 0700;
        own.insert({step.root, step.path});
      }
      if (only_lends_name(step)) {
        stay.push_back(std::move(step));
      } else if (step.to.kind == BaseRecord::kAbsent) {
        gone.push_back(std::move(step));
      } else if (step.to.kind == BaseRecord::kDirectory) {
        Step closes = step;
        step.to.mode |= 0700;
        closes.from = step.to;
        if (closes.to.mode != step.to.mode) modes.push_back(std::move(closes));
        made.push_back(std::move(step));
      } else {
        made.push_back(std::move(step));
      }
    }
    for (const auto& [key, was] : closed) {
      Step opened{key.first, key.second, was, was};
      opened.to.mode |= 0700;
      if (!own.contains(key)) modes.push_back({key.first, key.second, opened.to, was});
      opens.push_back(std::move(opened));
    }
    const auto by_path = [](const Step& a, const Step& b) {
      return std::pair(a.root, a.path) < std::pair(b.root, b.path);
    };
    std::sort(gone.begin(), gone.end(), by_path);
    std::reverse(gone.begin(), gone.end());
    std::stable_sort(made.begin(), made.end(), by_path);
    const auto rank = [](const Step& step) {
      return step.to.kind == BaseRecord::kDirectory ? 0
             : is_same_content(step.from, step.to)  ? 1
                                                    : 2;
    };
    std::stable_sort(made.begin(), made.end(),
                     [&](const Step& a, const Step& b) { return rank(a) < rank(b); });
    std::sort(modes.begin(), modes.end(), by_path);
    std::reverse(modes.begin(), modes.end());
    steps_ = std::move(opens);
    for (Step& step : stay) {
      numbers_.emplace(TouchedKey{step.root, step.path}, static_cast<std::int64_t>(steps_.size()));
      steps_.push_back(std::move(step));
    }
    for (Step& step : gone) steps_.push_back(std::move(step));
    for (Step& step : made) {
      const TouchedKey key{step.root, step.path};
      if (const TouchedKey* const link = links_->first_of(key)) {
        const auto first = numbers_.find(*link);
        if (first != numbers_.end()) step.link = first->second;
      }
      numbers_.emplace(key, static_cast<std::int64_t>(steps_.size()));
      steps_.push_back(std::move(step));
    }
    for (Step& step : modes) steps_.push_back(std::move(step));
  }

  Status carry_out() {
    SBX_TRY(OwnedFd lock, lock_store(layer_.store()));
    SBX_TRY(const std::string epoch, make_epoch(layer_.store(), state_));
    const std::vector<Step> given_up = give_up();
    if (Status status = begin(epoch, given_up); !status.ok()) {
      forget_epoch(layer_, epoch);
      return status;
    }
    lock.reset();
    Paths anew;
    SBX_CHECK_OK(all_or_none(layer_, epoch, steps_, false, anew));
    return finish_commit(layer_, epoch, steps_, given_up, takes_all(touched_, steps_, given_up));
  }

  Status begin(const std::string& epoch, const std::vector<Step>& given_up) {
    SBX_CHECK_OK(keep_contents(layer_.store().epoch(epoch), given_up));
    opened_.close();  // what goes on being the layer's keeps its modes
    SBX_CHECK_OK(write_given_up(layer_, epoch, given_up));
    for (Step& step : steps_) {
      if (!only_lends_name(step)) step.to = of_any_copy(step.to);
    }
    return write_pending(layer_, epoch, encode_journal(steps_));
  }

  std::vector<Step> give_up() const {
    std::vector<Step> out;
    for (const auto* const keys : {&dropped_, &settled_}) {
      for (const TouchedKey& key : *keys) {
        const Touched& touched = touched_.at(key);
        out.push_back({key.first, key.second, touched.base, touched.now});
      }
    }
    return out;
  }

  Status keep_contents(const std::string& directory, const std::vector<Step>& given_up) {
    for (const char* part : {"/old", "/new"}) {
      if (mkdir((directory + part).c_str(), 0700) != 0) {
        return layer_failure("mkdir(" + directory + part + ")", errno);
      }
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const std::string number = std::to_string(i);
      SBX_CHECK_OK(keep_old(step, directory + "/old/" + number));
      SBX_CHECK_OK(keep_new(step, directory + "/new/" + number));
    }
    for (std::size_t i = 0; i < given_up.size(); ++i) {
      const std::string number = std::to_string(steps_.size() + i);
      SBX_CHECK_OK(keep_new(given_up[i], directory + "/new/" + number));
    }
    return {};
  }

  Status keep_old(const Step& step, const std::string& to) {
    const int root = roots_.at(step.root).get();
    if (step.from.kind == BaseRecord::kAbsent) return {};
    if (step.from.kind == BaseRecord::kDirectory) {
      return keep_directory(OwnedFd(open_beneath(root, step.path, kDirectoryFlags)), to);
    }
    // What is special is not opened, and a name may be given to what cannot be read.
    OwnedFd file;
    if (step.from.kind == BaseRecord::kFile) {
      file.reset(open_beneath(root, step.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    }
    if (!file.is_open()) {
      file.reset(open_beneath(root, step.path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    if (step.from.kind == BaseRecord::kFile && is_same_content(step.from, step.to)) {
      const OwnedFd target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!give_access(file.get(), target.get(), 0600)) return not_kept(step.path);
      struct stat info {};
      if (fstat(file.get(), &info) != 0) return not_kept(step.path);
      const struct timespec times[2] = {info.st_atim, info.st_mtim};
      return futimens(target.get(), times) == 0 ? Status() : not_kept(step.path);
    }
    SBX_CHECK_OK(keep(step.from, step.path, file, to, true));
    struct stat was {};
    struct stat is {};
    if (fstat(file.get(), &was) == 0 && lstat(to.c_str(), &is) == 0 && was.st_ino != is.st_ino &&
        (was.st_nlink > 1 || was.st_uid != is.st_uid || was.st_gid != is.st_gid)) {
      warnings_.push_back("an undo makes it anew, without its owner, group or other names: " +
                          repair_utf8(where({step.root, step.path})));
    }
    return {};
  }

  Status keep_new(const Step& step, const std::string& to) {
    const auto found = touched_.find({step.root, step.path});
    // A directory that is only open in between is not the layer's.
    if (step.to.kind == BaseRecord::kAbsent || found == touched_.end()) return {};
    const Touched& touched = found->second;
    if (step.to.kind == BaseRecord::kDirectory) {
      return keep_directory(OwnedFd(open(touched.file.c_str(), kDirectoryFlags)), to);
    }
    // What is special is only ever given up, and comes back as the same file.
    if (step.to.kind == BaseRecord::kOther) {
      return linkat(AT_FDCWD, touched.file.c_str(), AT_FDCWD, to.c_str(), 0) == 0
                 ? Status()
                 : layer_failure("link(" + to + ")", errno);
    }
    if (touched.info.st_nlink > 1) {
      const auto [first, is_new] =
          kept_.emplace(std::pair(touched.info.st_dev, touched.info.st_ino), to);
      if (!is_new && linkat(AT_FDCWD, first->second.c_str(), AT_FDCWD, to.c_str(), 0) == 0)
        return {};
    }
    const OwnedFd file = step.to.kind == BaseRecord::kLink
                             ? OwnedFd(open(touched.file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC))
                             : open_kept(touched);
    return keep(step.to, touched.file, file, to, state_.kind == KeptKind::kOverlay);
  }

  // Its attributes and times.
  static Status keep_directory(const OwnedFd& directory, const std::string& to) {
    if (mkdir(to.c_str(), 0700) != 0) return layer_failure("mkdir(" + to + ")", errno);
    const OwnedFd kept(open(to.c_str(), kDirectoryFlags));
    if (directory.is_open()) give_attributes(directory.get(), kept.get());
    return give_access(directory.get(), kept.get(), 0700) ? Status() : not_kept(to);
  }

  static Error not_kept(const std::string& path) {
    Error error = layer_failure("cannot keep " + escape_control_bytes(path), errno);
    error.hint = "keep the real one with --ours PATH";
    return error;
  }

  // By the descriptor that was opened beneath the root.
  static Status keep(const BaseRecord& record, const std::string& path, const OwnedFd& file,
                     const std::string& to, bool may_link) {
    if (may_link && file.is_open() && link_open(file.get(), AT_FDCWD, to)) return {};
    if (record.kind == BaseRecord::kLink) {
      return copy_link(file.get(), "", AT_FDCWD, to) ? Status()
                                                     : layer_failure("symlink(" + to + ")", errno);
    }
    if (record.kind != BaseRecord::kFile) return not_kept(path);
    const OwnedFd target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    struct stat info {};
    if (!file.is_open() || !target.is_open() || fstat(file.get(), &info) != 0 ||
        !copy_bytes(file.get(), target.get())) {
      Error error = layer_failure("cannot keep a copy of " + escape_control_bytes(path), errno);
      if (!file.is_open()) error.hint = "make it readable, or keep the real one with --ours PATH";
      return error;
    }
    give_attributes(file.get(), target.get());
    keep_owner(info, target.get());
    return give_access(file.get(), target.get(), 0600) ? Status() : not_kept(path);
  }

  Done refusal(const std::string& what, const std::string& hint) const {
    const bool is_conflict = !conflicts_.empty();
    std::vector<Change> list = is_conflict ? conflicts_ : refused_;
    constexpr std::size_t kNamed = 20;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < list.size() && i < kNamed; ++i) {
      names.push_back(list[i].path + (is_conflict ? "" : " (" + list[i].kind + ")"));
    }
    return Refusal{Error{is_conflict ? ErrorCode::kLayerConflict : ErrorCode::kPathRefused,
                         "nothing was committed; " + what + ": " + join(names, ", ") +
                             and_more(list.size() - names.size()),
                         "PATH", hint},
                   std::move(list)};
  }

  Done answer() const { return commit_answer(action_, state_, "committed", steps_, warnings_); }

  const Action& action_;
  KeptLayer& layer_;
  LayerState& state_;
  std::vector<OwnedFd> roots_;
  OpenedDirectories opened_;
  TouchedMap touched_;
  std::set<TouchedKey> chosen_;
  std::set<TouchedKey> forced_;   // among them: directories on the way to what is
  std::set<TouchedKey> dropped_;  // the real file stays, the layer forgets its own
  std::set<TouchedKey> settled_;  // both say the same
  std::vector<Step> steps_;
  std::optional<Links> links_;
  std::map<std::pair<dev_t, ino_t>, std::string> kept_;  // of several names: where it is kept
  std::map<TouchedKey, std::int64_t> numbers_;
  bool is_any_unseen_ = false;
  std::vector<Change> conflicts_;
  std::vector<Change> refused_;
  std::vector<std::string> warnings_;
};

}  // namespace

Done commit_layer(const Action& action) {
  if (action.undo && !(action.arguments.empty() && action.ours.empty() && action.theirs.empty())) {
    return Refusal{Error{ErrorCode::kBadFlag, "--undo takes the whole commit back", "--undo",
                         "leave out PATH, --ours and --theirs"},
                   {}};
  }
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, false);
  if (!found.ok()) return Refusal{found.error(), {}};
  KeptLayer& layer = *found.value();
  const std::optional<Pending> pending = read_pending(layer.store(), action.name);
  if (pending) return finish_pending(action, layer, *pending, action.undo);
  if (action.undo) return undo_committed(action, layer);
  const Action reached = in_roots(action, layer.state());
  return Commit(reached, layer).run();
}

}  // namespace sbx
