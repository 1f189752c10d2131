// SPDX-License-Identifier: Apache-2.0
// One run with everything shown says how the command ends and what it connects to. Then runs under
// the profile itself, each with the grants of what the one before was refused: the last of them,
// which ends the same and is refused nothing more, is the proof.
#include "learn/learn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>

#include "base/files.h"
#include "host/layer_places.h"
#include "json/writer.h"
#include "kept/store.h"
#include "learn/account.h"
#include "learn/hosts.h"
#include "learn/lines.h"
#include "learn/never.h"
#include "learn/profile_file.h"
#include "learn/runs.h"
#include "learn/secrets.h"
#include "model/grant.h"
#include "process.h"
#include "profile/decode.h"
#include "profile/source.h"

namespace sbx::learn {
namespace {

constexpr int kMostRuns = 24;
constexpr const char* kNoCopy =
    " is not written to while it learns: no layer can copy what is another user's";
constexpr int kMostLooks = 50000;  // entries below a directory that may be shown

// The limit that a run met; empty: none.
std::string limit_of(const nlohmann::json& result) {
  if (result.value("status", "") == "timed_out") return "timeout";
  const nlohmann::json& limit = result.value("limit", nlohmann::json());
  return limit.is_string() ? limit.get<std::string>() : "";
}

bool is_laid_over(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode));
}

// Of what is no root.
std::string tier_of(const Grant& grant) {
  if (grant.section == "commands") return "program";
  return grant.section == "network" ? "host" : grant.key;
}

class Learner {
 public:
  explicit Learner(const LearnOptions& options) : options_(options) {
    guarded_.homes = own_homes(options.home);
    guarded_.programs = program_places(options.path);
    guarded_.own = {options.out.empty() ? options.workspace + "/.sbx" : options.out};
    if (!options.out.empty()) {
      guarded_.own.push_back(directory_of(options.out) + "/" +
                             options.out.substr(options.out.rfind('/') + 1));
    }
    if (!options.state.empty()) guarded_.own.push_back(options.state);
    parents_ =
        options.parents.size() == 1 ? Document(options.parents.front()) : Document(options.parents);
    if (options.parents.empty()) parents_ = "default";
  }

  Status begin() {
    if (!is_merged_into()) SBX_CHECK_OK(check_new_file(options_.out));
    if (options_.workspace.empty()) {
      return Error{ErrorCode::kBadFlag,
                   "the profile makes a workspace for each run: there is none to learn in",
                   "--profile", "name another parent"};
    }
    SBX_CHECK_OK(run_profiles_.make(options_));
    std::vector<std::string>& own = guarded_.own;
    own.insert(own.end(), run_profiles_.parents().begin(), run_profiles_.parents().end());
    SBX_TRY(guarded_.secrets, secret_places(guarded_.homes));
    guarded_.linked = linked_files(guarded_.secrets);
    is_copied_ = !mount_below(options_.workspace).empty();
    base_ = {{"extends", parents_}};
    SBX_CHECK_OK(load_base());
    if (!granted_.caches.empty()) without_caches_ = Document::parse(profile_to_json(granted_));
    if (!granted_.isolation.namespaces.has(Layer::kMount)) {
      return Error{ErrorCode::kBadFlag,
                   "under the profile nothing is hidden (isolation.namespaces has no mount): there "
                   "is nothing to learn, and no layer to throw away",
                   "--profile", "name another parent"};
    }
    has_rules_ = !granted_.network.http.empty() || !granted_.network.credentials.empty();
    if (!options_.merge.empty()) {
      SBX_TRY(before_, read_file(options_.merge, kMaxProfileBytes));
      const std::vector<Error> errors =
          validate_profile_text(before_, options_.merge, options_.search);
      if (!errors.empty()) return errors.front();
      base_ = Document::parse(before_, nullptr, false);
      merged_from_ = directory_of(options_.merge);
      return load_base();
    }
    return {};
  }

  // How the command ends where everything is shown, and what it connects to. Where it writes to
  // elsewhere is known once it is refused: such a place lies below a layer of its own in the next.
  Status observe() {
    static constexpr std::int64_t kNoMore = 0;
    if (shown_.is_null()) {
      shown_ = everything_shown(parents_, has_rules_, hidden_places(), read_only());
      // They lie below a private home alone, and nothing that stands on the parents takes them
      // away.
      if (!without_caches_.is_null()) {
        shown_.erase("extends");
        without_caches_.erase("caches");
        without_caches_.update(shown_, true);
        shown_ = without_caches_;
      }
    }
    for (int i = 0; i < kMostRuns; ++i) {
      SBX_TRY(const std::string path, write(with_room(as_run(shown_), kNoMore)));
      SBX_TRY(wide_, run_under(options_, path, is_copied_ ? run_profiles_.name() : ""));
      const std::string status = wide_.value("status", "");
      if (status == "denied" || status == "needs_approval") {
        return Error{ErrorCode::kSetupFailed,
                     "the command policy of the profile refuses the command", "learn",
                     "sbx-run check says why; --profile names another parent"};
      }
      SBX_TRY(const bool is_wider, open_refused(shown_));
      if (!is_wider) break;
    }
    return {};
  }

  // Whether the first run may end in another way now: where a layer could not copy what lies above
  // a place that is written to, that place has a layer of its own.
  bool is_to_be_seen_again() {
    if (not_copied(wide_).empty()) return false;
    Document& roots = shown_["filesystem"]["roots"];
    const std::size_t before = roots.size();
    for (const Line& line : lines_) {
      const bool is_known = std::find(roots.begin(), roots.end(), line.value) != roots.end();
      if (line.is_written() && !is_known) roots.push_back(line.value);
    }
    return roots.size() != before;
  }

  // Until nothing that could be granted is refused any more.
  Status narrow() {
    for (const std::string& host : hosts_of(wide_)) {
      if (!is_reached(host, granted_.network))
        take("network.allow += [" + json_string(host) + "]", {});
    }
    const std::int64_t tmp_mb = granted_.limits.tmp_mb.value_or(0);
    for (int i = 0; i < kMostRuns; ++i) {
      SBX_TRY(std::string path, write(as_run(profile())));
      std::string layer = run_profiles_.name();
      left_ = of_first_run_;
      if (!is_copied_ && !has_layer_on_disk(options_, path, layer)) {
        layer.clear();
        SBX_TRY(path, write(with_room(as_run(profile()), tmp_mb)));
        note(
            "limits.tmp_mb is not held against the command: no layer on the disk can lie over what "
            "it writes to");
      }
      SBX_TRY(last_, run_under(options_, path, layer));
      SBX_TRY(bool is_changed, drop_futile());
      is_changed |= raise_limit();
      SBX_TRY(const bool is_wider, take_grants());
      is_changed |= is_wider;
      is_changed |= join_directories(
          lines_, [&](const std::string& directory) { return why_not(directory, "ro").empty(); });
      is_settled_ = !is_changed;
      if (is_settled_) return {};
    }
    return {};
  }

  // A preset stands for lines of its own where the person says so, and is proven like them.
  Status offer_presets() {
    std::set<std::string> asked;
    while (!options_.yes && is_at_terminal()) {
      const std::vector<Proposal> all = presets_for(lines_);
      const auto next = std::find_if(all.begin(), all.end(),
                                     [&](const auto& one) { return !asked.contains(one.preset); });
      if (next == all.end()) break;
      asked.insert(next->preset);
      say_what_opens(next->preset);
      if (!is_agreed("Put --with " + next->preset + " in the place of " +
                         std::to_string(next->lines) + " lines",
                     options_.signal_fd)) {
        if (waiting_signal() != 0) return told();
        continue;
      }
      Document& parents = base_["extends"];
      if (parents.is_null()) parents = "default";
      if (!parents.is_array()) parents = Document::array({parents});
      parents.push_back(next->preset);
      lines_.clear();
      waited_.clear();
      SBX_CHECK_OK(load_base());
      SBX_CHECK_OK(narrow());
    }
    return {};
  }

  Result<int> finish() {
    const bool has_failed = wide_.value("exit_code", nlohmann::json()) != 0;
    for (const std::string& path : not_copied(wide_)) {
      if (has_failed) note(path + kNoCopy);
    }
    if (last_.value("status", "") != "denied") {
      SBX_TRY(const std::string path, write(profile()));
      SBX_TRY(asks_, asked_about(options_, path));
    }
    const std::string text = as_written().dump(before_.empty() ? 2 : indent_of(before_)) + "\n";
    Learned learned{wide_, last_, lines_, left_, asks_, differences(wide_, last_), as_written()};
    if (!is_settled_) learned.differ.emplace_back("each run was refused something else");
    write_all(STDERR_FILENO, difference(before_, text));
    tell(learned);
    if (learned.is_proven() && !options_.out.empty() &&
        is_wanted(options_.out, options_.yes, options_.signal_fd) && waiting_signal() == 0) {
      SBX_CHECK_OK(replace_file(options_.out, text, is_merged_into(),
                                is_merged_into() ? &before_ : nullptr));
      learned.is_written = true;
    }
    if (!learned.is_written && waiting_signal() != 0) return told();
    const bool is_done = learned.is_written || options_.out.empty();
    if (options_.json || isatty(STDOUT_FILENO) == 0) {
      const Document answer = answer_of(learned, options_.out);
      const std::string line =
          foreign_json(answer.dump(-1, ' ', false, Document::error_handler_t::replace)) + "\n";
      if (!write_all(STDOUT_FILENO, line)) return stdout_unwritable();
    } else if (learned.is_proven()) {
      std::string where = "not written; --out FILE says where";
      if (!options_.out.empty()) where = why_unwritten();
      if (learned.is_written) where = "written to " + options_.out;
      say("proven, and " + where);
    }
    return learned.is_proven() && is_done ? 0 : 125;
  }

 private:
  // The profile that is added to is the user's own, wherever it lies.
  bool is_merged_into() const { return options_.out == options_.merge; }

  std::vector<std::string> hidden_places() const {
    std::vector<std::string> places = run_profiles_.parents();
    for (const SecretPlace& secret : guarded_.secrets) {
      std::string path = secret.path;
      struct stat info {};
      // What may not be searched for it is hidden whole: a command of its owner's could open it.
      while (lstat(path.c_str(), &info) != 0 && errno == EACCES) path.erase(path.rfind('/'));
      path = literal_path(path);
      if (std::find(places.begin(), places.end(), path) == places.end()) places.push_back(path);
    }
    for (const Root& root : granted_.filesystem.roots) {  // what the parents hide
      if (root.access == Access::kNone) places.push_back(root.path);
    }
    return places;
  }

  bool is_hidden_by_parents(const std::string& path) const {
    const std::string by_name = by_variable(path);
    return std::any_of(granted_.filesystem.roots.begin(), granted_.filesystem.roots.end(),
                       [&](const Root& root) {
                         return root.access == Access::kNone &&
                                (is_below(path, root.path) || is_below(by_name, root.path));
                       });
  }

  // Of what the first run writes to: where no layer can lie over it. Of a workspace of that kind
  // the layer is a copy, which should hold nothing else.
  std::vector<std::string> read_only() {
    std::vector<std::string> out;
    for (const std::string_view name : kWritten) {
      const std::string path = name == "${home}" ? options_.home : std::string(name);
      const std::string mounted = path.empty() ? "" : mount_below(path);
      if (mounted.empty() && !is_copied_) continue;
      out.emplace_back(name);
      const std::string& why = mounted.empty() ? mount_below(options_.workspace) : mounted;
      of_first_run_.push_back("not written to by the first run: " + path +
                              ": a file system is mounted at " + why);
    }
    return out;
  }

  // Whether the run was refused what it may have: to write, in what is thrown away, and to read in
  // a /tmp that could not be shown; calls and devices; or, where the parents' rules are the
  // network, what these could let through. A name never leads to this machine.
  Result<bool> open_refused(Document& wide) const {
    SBX_TRY(const std::vector<std::string> grants, grants_of(wide_));
    bool is_wider = false;
    for (const std::string& text : grants) {
      const Result<Grant> grant = parse_grant(text);
      if (!grant.ok()) continue;
      const bool is_had = grant.value().section == "seccomp" || grant.value().key == "devices" ||
                          (has_rules_ && names_hosts(grant.value()));
      if (is_had && never_granted(grant.value(), guarded_).empty()) {
        is_wider |= add_grant(grant.value(), wide);
      }
      if (grant.value().key != "roots") continue;
      for (const Document& root : grant.value().value) {
        const std::string access = root.value("access", "");
        const std::string path = root["path"].get<std::string>();
        // A layer lies over files and directories; what a FIFO or a device takes reaches the host.
        const bool is_shown = access == "ro" || is_laid_over(path);
        if (!why_not(path, access).empty() || !is_shown) continue;
        is_wider |= add_grant({"filesystem", "roots", true, Document::array({root})}, wide);
      }
    }
    return is_wider;
  }

  Document profile() const { return with_lines(base_, lines_); }

  Document as_written() const {
    const bool is_beside = !options_.out.empty() && directory_of(options_.out) == merged_from_;
    return is_beside ? profile() : from_directory(merged_from_, profile());
  }

  Result<std::string> write(const Document& profile) const {
    return run_profiles_.write(from_directory(merged_from_, profile));
  }

  void say_what_opens(const std::string& preset) const {
    for (const ProfileSummary& one : list_profiles(options_.search)) {
      if (!one.is_preset || one.name != preset) continue;
      for (const std::string& line : one.opens) say(preset + " opens " + line);
    }
  }

  Status load_base() {
    SBX_TRY(const std::string path, write(base_));
    SBX_TRY(const LoadedProfile loaded, load_profile(path, options_.search));
    granted_ = loaded.profile;
    return {};
  }

  bool raise_limit() {
    const std::string met = limit_of(last_);
    if (met.empty() || met == limit_of(wide_)) return false;
    std::optional<Line> line =
        raised_limit(met, granted_.limits, lines_, wide_.value("duration_ms", 0.0));
    return line && add_line(lines_, std::move(*line));
  }

  // Lines of roots that had no effect, as where the managed policy takes them away again.
  Result<bool> drop_futile() {
    SBX_TRY(const std::vector<std::string> grants, grants_of(last_));
    std::vector<std::pair<std::string, bool>> refused;
    // What was lowered is refused without a grant: to write, since it is shown.
    for (const nlohmann::json& denial : last_["denials"]) {
      if (denial["grant"] == "")
        refused.emplace_back(by_variable(denial.value("target", "")), true);
    }
    for (const std::string& text : grants) {
      const Result<Grant> grant = parse_grant(text);
      if (!grant.ok() || grant.value().key != "roots") continue;
      for (const Document& root : grant.value().value) {
        refused.emplace_back(by_variable(root["path"].get<std::string>()),
                             root.value("access", "") == "rw");
      }
    }
    const std::size_t before = futile_.size();
    for (Line& line : drop_refused(lines_, refused)) {
      futile_.emplace(line.path(), line.is_written());
    }
    return futile_.size() != before;
  }

  bool is_futile(const std::string& path, bool to_write) const {
    return std::any_of(futile_.begin(), futile_.end(), [&](const auto& known) {
      return is_below(path, known.first) && (to_write || !known.second);
    });
  }

  Result<bool> take_grants() {
    SBX_TRY(const std::vector<std::string> grants, grants_of(last_));
    bool is_changed = false;
    for (const std::string& path : not_copied(last_)) note(path + kNoCopy);
    for (const std::string& text : grants) {
      if (text == kWithoutLayer) continue;
      std::set<std::string> programs;
      for (const nlohmann::json& denial : last_["denials"]) {
        const std::string program = denial.value("program", std::string());
        if (denial["grant"] == text && !program.empty()) programs.insert(program);
      }
      is_changed |= take(text, programs);
    }
    // What the managed policy would take away again comes without a grant, and so does a call of
    // the machine's own root.
    for (const nlohmann::json& denial : last_["denials"]) {
      if (denial["grant"] != "") continue;
      const Grant call{"seccomp", "allow", true, Document::array({denial["operation"]})};
      const std::string why = denial["layer"] == "seccomp" ? never_granted(call, guarded_) : "";
      if (!why.empty()) note("not granted: " + why);
      if (!why.empty() || last_["sandbox"]["managed"].is_null()) continue;
      note("not granted: " + denial.value("target", std::string()) +
           ": it is refused all the same");
    }
    // A directory that was asked for by its own name is there as soon as something in it is: only
    // who lists it is refused again.
    for (Line& line : waiting_) {
      const std::string inside = line.path() + "/";
      const bool is_a_way =
          !line.is_written() && std::any_of(lines_.begin(), lines_.end(), [&](const Line& other) {
            return other.path().starts_with(inside);
          });
      if (is_a_way && waited_.insert(line.path()).second) {
        is_changed = true;
      } else {
        is_changed |= add_line(lines_, std::move(line));
      }
    }
    waiting_.clear();
    drop_covered(lines_);
    return is_changed;
  }

  // What may lead to this machine itself: which addresses do not is known by the first run alone.
  bool is_of_this_machine(const Grant& grant) const {
    if (grant.section != "network" || grant.key == "http") return false;
    return grant.key != "allow" || !are_among(grant.value, hosts_of(wide_));
  }

  // Whether the profile is another one with it.
  bool take(const std::string& text, const std::set<std::string>& programs) {
    const Result<Grant> grant = parse_grant(text);
    if (!grant.ok() || is_of_this_machine(grant.value()) ||
        is_without_list(grant.value(), granted_)) {
      note("left to you: " + text);
      return false;
    }
    const std::string why = never_granted(grant.value(), guarded_);
    if (!why.empty()) {
      note("not granted: " + text + ": " + why);
      return false;
    }
    if (!grant.value().appends && !is_raised_by(grant.value())) {
      note("left to you: " + text);
      return false;
    }
    const std::string setting = grant.value().section + "." + grant.value().key;
    const bool is_list = grant.value().value.is_array();
    bool is_changed = false;
    for (const Document& value :
         is_list ? grant.value().value : Document::array({grant.value().value})) {
      if (setting == "filesystem.roots") {
        is_changed |= take_root(value, programs);
      } else {
        is_changed |= add_line(lines_, {setting, value, tier_of(grant.value()), programs, 0});
      }
    }
    return is_changed;
  }

  // Whether it is more than there is, no more than there may be, and of use.
  bool is_raised_by(const Grant& grant) const {
    if (lacking(grant, granted_, "").value.is_array()) return false;
    if (grant.section == "limits" && printed_alike(wide_, last_)) return false;
    Document with = from_directory(merged_from_, base_);
    add_grant(grant, with);
    return load_profile_text(with.dump(), "./learned", options_.search).ok();
  }

  bool take_root(const Document& root, const std::set<std::string>& programs) {
    std::string path = root["path"].get<std::string>();
    const std::string access = root.value("access", std::string("ro"));
    const std::string why = why_not(path, access);
    if (!why.empty()) {
      note("not granted: " + path + ": " + why);
      return false;
    }
    std::string tier = is_directory(path) ? "directory" : "file";
    path = by_variable(path);
    if (is_futile(path, access == "rw")) {
      note("not granted: " + path + ": it is refused all the same (" + access + ")");
      return false;
    }
    if (const std::string cache = cache_of(path); !cache.empty()) {
      path = cache;
      tier = "cache";
    }
    Line line{"filesystem.roots",
              {{"path", path}, {"access", access}, {"optional", true}},
              std::move(tier),
              programs,
              1};
    if (line.tier == "directory") {
      waiting_.push_back(std::move(line));
      return false;
    }
    return add_line(lines_, std::move(line));
  }

  // Empty: nothing is against it. `path` as the host or the profile writes it.
  std::string why_not(std::string path, const std::string& access) const {
    if (path.starts_with("${home}"))
      path.replace(0, std::string_view("${home}").size(), options_.home);
    if (is_hidden_by_parents(path)) return path + " is hidden by the profile it stands on";
    // All of it can be read, but for what a pattern hides, by whatever name.
    if (by_variable(path).starts_with("${workspace}")) {
      return access == "ro" ? path + " is hidden in the workspace" : "";
    }
    const Document root = {{"path", path}, {"access", access}};
    const Grant grant{"filesystem", "roots", true, Document::array({root})};
    std::string why = never_granted(grant, guarded_);
    if (const std::string mounted = access == "rw" && !is_copied_ ? mount_below(path) : "";
        !mounted.empty()) {
      why = path + " has a file system below it, which no layer can lie over: " + mounted;
    }
    int looks_left = kMostLooks;
    const bool is_cache = !cache_of(by_variable(path)).empty();
    if (why.empty() && !is_cache && is_directory(path) &&
        holds_secret(path, guarded_.linked, looks_left)) {
      why = looks_left < 0 ? path + " holds too much to be looked through for .env files"
                           : path + " holds a .env file, or another name for a file of secrets";
    }
    return why;
  }

  void note(std::string line) {
    if (std::find(left_.begin(), left_.end(), line) == left_.end()) {
      left_.push_back(std::move(line));
    }
  }

  // So that the profile is good for another checkout and another user.
  std::string by_variable(const std::string& path) const {
    for (const auto& [place, name] :
         {std::pair(&options_.workspace, "${workspace}"), std::pair(&options_.home, "${home}")}) {
      if (place->size() > 1 && path.starts_with(*place + "/"))
        return name + path.substr(place->size());
    }
    return path;
  }

  const LearnOptions& options_;
  RunProfiles run_profiles_;
  Document parents_;
  std::string before_;
  std::string merged_from_;  // the directory of what is merged
  Document base_;
  Document without_caches_;  // the parents, as one profile; null: they have none
  Profile granted_;          // what is begun with
  bool has_rules_ = false;   // the parents, for hosts
  bool is_copied_ = false;   // the workspace, for each run: no overlay can lie over it
  Document shown_;           // to the first run
  nlohmann::json wide_;
  nlohmann::json last_;
  nlohmann::json asks_ = nlohmann::json::array();
  Guarded guarded_;
  std::vector<Line> lines_;
  std::vector<Line> waiting_;                      // directories of this run
  std::set<std::string> waited_;                   // those that have waited once
  std::vector<std::string> left_;                  // what the last run was refused, and stays so
  std::vector<std::string> of_first_run_;          // notes that stay
  std::set<std::pair<std::string, bool>> futile_;  // paths, and whether written
  bool is_settled_ = false;
};

}  // namespace

Result<int> learn(const LearnOptions& options) {
  Learner learner(options);
  SBX_CHECK_OK(learner.begin());
  SBX_CHECK_OK(learner.observe());
  SBX_CHECK_OK(learner.narrow());
  while (learner.is_to_be_seen_again()) {
    SBX_CHECK_OK(learner.observe());
    SBX_CHECK_OK(learner.narrow());
  }
  SBX_CHECK_OK(learner.offer_presets());
  return learner.finish();
}

}  // namespace sbx::learn
