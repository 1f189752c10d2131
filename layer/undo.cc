// SPDX-License-Identifier: Apache-2.0
// What was kept of a commit → the real files and the layer as they were before it.
#include "undo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/by_number.h"
#include "base/files.h"
#include "base/text.h"
#include "base/utf8.h"
#include "kept/copy.h"
#include "kept/merged.h"
#include "pending.h"
#include "touched.h"

namespace sbx {
namespace {

constexpr std::size_t kMostJournal = std::size_t{2} << 30;

// The way that leads out of what is unfinished.
constexpr const char* kTakesBack = "sbx-run layer commit NAME --undo takes the commit back";
constexpr const char* kKeeps = "sbx-run layer commit NAME leaves it committed";

constexpr const char* kAnew = "made anew, without its former owner, group or other names: ";

std::string listed(const Paths& paths) {
  constexpr std::size_t kNamed = 20;
  const auto named = std::span(paths).first(std::min(paths.size(), kNamed));
  return escape_control_bytes(repair_utf8(join(named, ", ")) +
                              and_more(paths.size() - named.size()));
}

std::string given_up_path(const KeptLayer& layer, const std::string& epoch) {
  return layer.store().epoch(epoch) + "/given_up";
}

Result<std::vector<Step>> read_given_up(const KeptLayer& layer, const std::string& epoch) {
  const std::string path = given_up_path(layer, epoch);
  // Of a commit by a version that kept none.
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::vector<Step>();
  SBX_TRY(const std::string text, read_file(path, kMostJournal));
  return decode_journal(text, layer.state().roots.size());
}

Result<std::vector<Step>> read_journal(KeptLayer& layer, const std::string& epoch) {
  SBX_TRY(const std::string text, read_file(layer.store().epoch(epoch) + "/journal", kMostJournal));
  return decode_journal(text, layer.state().roots.size());
}

// A commit that has been left unfinished.
Status finish_again(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                    const std::vector<Step>& given_up) {
  OpenedDirectories opened;
  bool is_whole = false;
  const TouchedMap touched = collect_touched(layer, is_whole, &opened);
  opened.close();
  return finish_commit(layer, epoch, steps, given_up,
                       is_whole && takes_all(touched, steps, given_up));
}

// After the last step.
Done end_pending(const Action& action, KeptLayer& layer, const Pending& pending,
                 const std::vector<Step>& steps, const Paths& left, const Paths& anew, bool back,
                 const Branches& branches = {}) {
  const Result<std::vector<Step>> given_up = read_given_up(layer, pending.epoch);
  if (!given_up.ok()) return Refusal{given_up.error(), {}};
  const Status status = back ? finish_undo(layer, pending.epoch, steps, given_up.value(), branches)
                             : finish_again(layer, pending.epoch, steps, given_up.value());
  if (!status.ok()) return Refusal{status.error(), {}};
  std::vector<Step> done = steps;
  std::vector<std::string> warnings;
  for (const std::string& path : anew) warnings.push_back(kAnew + repair_utf8(path));
  for (const std::string& path : left) {
    warnings.push_back("left as somebody else has made it: " + repair_utf8(path));
    std::erase_if(done, [&](const Step& step) {
      return absolute_path(layer.state(), {step.root, step.path}) == path;
    });
  }
  return commit_answer(action, layer.state(), back ? "undone" : "committed", done, warnings);
}

// What is there, also where a commit has taken its owner's right to look: directories are open for
// as long as this lives.
class OpenedByLook {
 public:
  BaseRecord look(int root, const std::string& path) {
    BaseRecord is = look_at_real(root, path);
    if (is_closed(is)) {
      std::string name;
      const OwnedFd file = open_own(open_parent(root, path, name).get(), name);
      if (file.is_open()) is.digest = digest_of(file.get());
    }
    if (is.kind != BaseRecord::kDirectory || (is.mode & 0500) == 0500) return is;
    OwnedFd fd(open_beneath(root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const std::string name = by_number(fd.get());
    if (!fd.is_open() || chmod(name.c_str(), is.mode | 0500) != 0) return is;
    directories_.push_back(std::move(fd));
    opened_.add(name, is.mode);
    is.digest = look_at_real(root, path).digest;
    return is;
  }

 private:
  std::vector<OwnedFd> directories_;
  OpenedDirectories opened_;
};

// Nothing may have changed since what was committed.
std::vector<Change> undo_conflicts(const LayerState& state, const std::vector<Step>& steps) {
  std::map<TouchedKey, const BaseRecord*> last;  // a directory has two steps
  std::set<TouchedKey> made;
  for (const Step& step : steps) {
    if (only_lends_name(step)) continue;
    last[{step.root, step.path}] = &step.to;
    if (step.from.kind != BaseRecord::kDirectory) made.insert({step.root, step.path});
  }
  std::vector<Change> out;
  OpenedByLook opened;
  for (const auto& [key, to] : last) {
    const OwnedFd root = open_root(state, key.first);
    const BaseRecord is = opened.look(root.get(), key.second);
    // One that was committed without a right to read it may have been given one.
    if (is_closed(*to) ? !is_same_content(*to, is) : !is_same_file(*to, is)) {
      out.push_back({repair_utf8(absolute_path(state, key)), "conflict"});
    }
    if (to->kind != BaseRecord::kDirectory || !made.contains(key)) continue;
    // What somebody else has put into it would keep it from being removed.
    const OwnedFd fd(open_beneath(root.get(), key.second, kDirectoryFlags));
    Listing listing = fd.is_open() ? Listing(fd.get(), ".") : Listing();
    while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
      const TouchedKey child{key.first, key.second + "/" + entry->d_name};
      if (last.contains(child)) continue;
      out.push_back({repair_utf8(absolute_path(state, child)), "conflict"});
    }
  }
  return out;
}

}  // namespace

Status all_or_none(KeptLayer& layer, const std::string& epoch, const std::vector<Step>& steps,
                   bool back, Paths& anew) {
  const std::string directory = layer.store().epoch(epoch);
  const LayerState& state = layer.state();
  Status status =
      back ? undo_steps(state, directory, steps, anew) : do_steps(state, directory, steps);
  if (status.ok()) return status;
  Error error = status.error();
  Paths left;
  Status again = back ? do_steps(state, directory, steps, &left)
                      : undo_steps(state, directory, steps, anew, &left);
  if (again.ok()) {
    again = back ? finish_again(layer, epoch, steps, {}) : finish_undo(layer, epoch, steps, {}, {});
  }
  if (!again.ok()) {
    error.hint = back ? kKeeps : kTakesBack;
    return error;
  }
  error.message = (back ? "nothing was undone; " : "nothing was committed; ") + error.message;
  if (!left.empty()) error.message += "; left as they are: " + listed(left);
  if (!anew.empty()) error.message += std::string("; ") + kAnew + listed(anew);
  if (error.code == ErrorCode::kLayerConflict) error.hint.clear();
  return error;
}

Status write_given_up(const KeptLayer& layer, const std::string& epoch,
                      const std::vector<Step>& given_up) {
  return write_new(given_up_path(layer, epoch), encode_journal(given_up));
}

Done finish_pending(const Action& action, KeptLayer& layer, const Pending& pending, bool back) {
  Result<std::vector<Step>> steps = read_journal(layer, pending.epoch);
  if (!steps.ok()) return Refusal{steps.error(), {}};
  const std::string directory = layer.store().epoch(pending.epoch);
  const std::vector<Step>& list = steps.value();
  const bool was_committed = layer.state().committed == pending.epoch;
  const bool may_leave = back != was_committed;
  if (action.dry_run) {
    const Status status = may_leave ? Status() : may_take_all(layer.state(), list, back);
    if (!status.ok()) return Refusal{status.error(), {}};
    return commit_answer(action, layer.state(), back ? "undone" : "committed", list, {});
  }
  // A commit that has not ended can be taken back, and an undo that has not ended be left, whatever
  // others have done meanwhile.
  Result<Branches> branches =
      back && was_committed ? find_branches(layer, pending.epoch) : Branches();
  if (!branches.ok()) return Refusal{branches.error(), {}};
  Paths left;
  Paths anew;
  Paths* const to = may_leave ? &left : nullptr;
  Status status = back ? undo_steps(layer.state(), directory, list, anew, to)
                       : do_steps(layer.state(), directory, list, to);
  if (!status.ok()) {
    Error error = status.error();
    if (error.code == ErrorCode::kLayerConflict) error.hint = was_committed ? kKeeps : kTakesBack;
    return Refusal{std::move(error), {}};
  }
  return end_pending(action, layer, pending, list, left, anew, back, branches.value());
}

Done undo_committed(const Action& action, KeptLayer& layer) {
  const std::string epoch = layer.state().committed;
  if (epoch.empty()) {
    return Refusal{Error{ErrorCode::kLayerNotFound, "the layer has no commit to take back", "layer",
                         "the last one only is kept"},
                   {}};
  }
  Result<std::vector<Step>> steps = read_journal(layer, epoch);
  if (!steps.ok()) return Refusal{steps.error(), {}};
  std::vector<Change> conflicts = undo_conflicts(layer.state(), steps.value());
  if (!conflicts.empty()) {
    std::vector<std::string_view> names;
    names.reserve(conflicts.size());
    for (const Change& change : conflicts) names.emplace_back(change.path);
    return Refusal{
        Error{ErrorCode::kLayerConflict,
              "nothing was undone; changed since the commit: " + join(names, ", ").substr(0, 2000),
              "layer", "put them back as they were committed"},
        std::move(conflicts)};
  }
  if (action.dry_run) {
    const Status status = may_take_all(layer.state(), steps.value(), true);
    if (!status.ok()) return Refusal{status.error(), {}};
    return commit_answer(action, layer.state(), "undone", steps.value(), {});
  }
  Result<Branches> branches = find_branches(layer, epoch);
  if (!branches.ok()) return Refusal{branches.error(), {}};
  if (Status status = write_pending(layer, epoch, ""); !status.ok()) {
    return Refusal{status.error(), {}};
  }
  Paths anew;
  if (Status status = all_or_none(layer, epoch, steps.value(), true, anew); !status.ok()) {
    return Refusal{status.error(), {}};
  }
  return end_pending(action, layer, {epoch}, steps.value(), {}, anew, true, branches.value());
}

Done undo_layer(const Action& action) {
  Result<std::shared_ptr<KeptLayer>> found = find_layer(action, false);
  if (!found.ok()) return Refusal{found.error(), {}};
  KeptLayer& layer = *found.value();
  const std::optional<Pending> pending = read_pending(layer.store(), action.name);
  if (pending) return finish_pending(action, layer, *pending, true);
  return undo_committed(action, layer);
}

}  // namespace sbx
