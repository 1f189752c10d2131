// SPDX-License-Identifier: Apache-2.0
// sbx-layer: what is done with a kept layer between runs. sbx-run and its server start it, with
// everything resolved; a person calls `sbx-run layer`.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "action.h"
#include "base/files.h"
#include "base/text.h"
#include "report/json.h"

extern char** environ;

namespace sbx {
namespace {

struct Row {
  const char* name;
  Done (*run)(const Action&);
  int least_arguments;
  int most_arguments;  // -1: any number
};

std::int64_t unix_ms() {
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

constexpr Row kActions[] = {
    {"list", list_layers, 0, 0},        {"diff", diff_layer, 0, -1},
    {"commit", commit_layer, 0, -1},    {"undo", undo_layer, 0, 0},
    {"discard", discard_layer, 0, -1},  {"checkpoint", checkpoint_layer, 0, 1},
    {"rollback", rollback_layer, 1, 1}, {"branch", branch_layer, 1, 1},
};

Error bad_usage(const std::string& what, const std::string& where) {
  return Error{ErrorCode::kBadFlag, what, where, "sbx-run layer --help"};
}

bool take_switch(Action& action, const std::string& flag) {
  const std::pair<const char*, bool Action::*> switches[] = {
      {"--json", &Action::json},           {"--stat", &Action::stat},
      {"--name-only", &Action::name_only}, {"--dry-run", &Action::dry_run},
      {"--undo", &Action::undo},           {"--held", &Action::is_held},
      {"--patch", &Action::patch},         {"--terminal", &Action::terminal}};
  for (const auto& [name, member] : switches) {
    if (flag != name) continue;
    action.*member = true;
    return true;
  }
  return false;
}

bool take_value(Action& action, const std::string& flag, const std::string& value) {
  const std::pair<const char*, std::vector<std::string> Action::*> lists[] = {
      {"--protect", &Action::protects},
      {"--hide", &Action::hidden},
      {"--read-only", &Action::read_only},
      {"--writable", &Action::writable},
      {"--protect-glob", &Action::protect_globs},
      {"--hide-glob", &Action::hidden_globs},
      {"--report", &Action::reported},
      {"--ours", &Action::ours},
      {"--theirs", &Action::theirs},
      {"--managed", &Action::managed}};
  for (const auto& [name, member] : lists) {
    if (flag != name) continue;
    (action.*member).push_back(value);
    return true;
  }
  std::string* one = nullptr;
  if (flag == "--workspace") one = &action.workspace;
  if (flag == "--root") one = &action.root;
  if (flag == "--profile") one = &action.profile;
  if (flag == "--sha256") one = &action.audit.profile_sha256;
  if (one != nullptr) *one = value;
  if (flag == "--audit") action.audit.files.push_back(value);
  return one != nullptr || flag == "--audit";
}

Result<Action> read_action(const std::vector<std::string>& words) {
  Action action;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != text.npos) {
      action.environment.insert_or_assign(std::string(text.substr(0, equals)),
                                          std::string(text.substr(equals + 1)));
    }
  }
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      plain.insert(plain.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (words[i].starts_with("--name=")) {
      action.name = words[i].substr(7);
    } else if (words[i].starts_with("--argument=")) {
      action.arguments.push_back(words[i].substr(11));
    } else if (!words[i].starts_with("--")) {
      plain.push_back(words[i]);
    } else if (!take_switch(action, words[i])) {
      if (i + 1 == words.size() || !take_value(action, words[i], words[i + 1])) {
        return bad_usage("unknown argument: " + words[i], words[i]);
      }
      ++i;
    }
  }
  if (plain.empty()) return bad_usage("no action is named", "ACTION");
  action.what = plain[0];
  if (plain.size() > 1) action.name = plain[1];
  if (plain.size() > 2) action.arguments.assign(plain.begin() + 2, plain.end());
  return action;
}

// One line where a log is named, and none of what only looks.
Done run_audited(const Row& row, const Action& action) {
  if (action.dry_run || row.run == list_layers || row.run == diff_layer) return row.run(action);
  Result<Audit> audit = Audit::open(action.audit);
  if (!audit.ok()) return Refusal{audit.error(), {}};
  LayerEvent event{action.workspace, action.profile, {}, {action.what, action.name}};
  for (const std::string& mark : action.managed) {
    const std::size_t colon = mark.find(':');
    event.managed.push_back({mark.substr(colon + 1), mark.substr(0, colon)});
  }
  if (action.undo) event.words.emplace_back("--undo");
  for (const std::string& path : action.ours) event.words.push_back("--ours=" + path);
  for (const std::string& path : action.theirs) event.words.push_back("--theirs=" + path);
  event.words.insert(event.words.end(), action.arguments.begin(), action.arguments.end());
  event.began_ms = unix_ms();
  Done done = row.run(action);
  event.ended_ms = unix_ms();
  const auto* const refusal = std::get_if<Refusal>(&done);
  event.is_done = refusal == nullptr;
  if (refusal != nullptr) event.error = refusal->error;
  Outcome outcome = layer_outcome(event);
  audit.value().record(outcome);
  if (refusal == nullptr && outcome.error) return Refusal{*outcome.error, {}};
  return done;
}

// What has been made before names were held to more than that can still be named.
bool is_component(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.size() <= kLongestLayerName;
}

// A flag that an action does not know; empty: all are its own.
std::string misplaced_flag(const Row& row, const Action& action) {
  const bool commits = row.run == commit_layer;
  const bool looks = row.run == diff_layer;
  const std::pair<bool, const char*> flags[] = {
      {action.dry_run && !commits && row.run != undo_layer, "--dry-run"},
      {action.undo && !commits, "--undo"},
      {!action.ours.empty() && !commits, "--ours"},
      {!action.theirs.empty() && !commits, "--theirs"},
      {action.stat && !looks, "--stat"},
      {action.name_only && !looks, "--name-only"},
      {!action.root.empty() && !looks, "--root"}};
  for (const auto& [is_misplaced, name] : flags) {
    if (is_misplaced) return name;
  }
  return "";
}

Done run(const Action& action) {
  std::vector<std::string_view> names;
  for (const Row& row : kActions) {
    names.emplace_back(row.name);
    if (action.what != row.name) continue;
    if (!action.workspace.starts_with('/')) {
      return Refusal{bad_usage("no workspace is named", "--workspace"), {}};
    }
    if (row.run != list_layers) {
      Status status = check_layer_name(action.name, "NAME");
      if (!status.ok() && !is_component(action.name)) {
        return Refusal{status.error(), {}};
      }
    }
    if (const std::string flag = misplaced_flag(row, action); !flag.empty()) {
      return Refusal{bad_usage(std::string(row.name) + " cannot honour " + flag, flag), {}};
    }
    if (int{row.run == diff_layer && action.json} + int{action.stat} + int{action.name_only} > 1) {
      const char* const last = action.name_only ? "--name-only" : "--stat";
      return Refusal{
          bad_usage("--json, --stat and --name-only are forms of a diff: one at a time", last), {}};
    }
    const bool is_named = row.run == list_layers && !action.name.empty();
    const auto count = static_cast<int>(action.arguments.size()) + (is_named ? 1 : 0);
    if (count < row.least_arguments || (row.most_arguments >= 0 && count > row.most_arguments)) {
      return Refusal{bad_usage(std::string(row.name) + " takes " +
                                   (count < row.least_arguments ? "one more word" : "fewer words"),
                               "ACTION"),
                     {}};
    }
    return run_audited(row, action);
  }
  const auto nearest = nearest_name(action.what, names);
  return Refusal{
      Error{ErrorCode::kBadFlag, "no such action: '" + escape_control_bytes(action.what) + "'",
            "ACTION", nearest ? "did you mean " + std::string(*nearest) + "?" : join(names, ", ")},
      {}};
}

// By a person, who is told an error in one line.
int answer(const Done& done, bool is_read) {
  if (const auto* const told = std::get_if<Answer>(&done)) {
    write_all(STDERR_FILENO, told->note);
    if (write_all(STDOUT_FILENO, told->text)) return 0;
    write_all(STDERR_FILENO, "sbx-run: " +
                                 error_line(Error{ErrorCode::kOutputUnwritable,
                                                  "the answer cannot be written to stdout",
                                                  "stdout", "give sbx-run a stdout that is open"}) +
                                 "\n");
    return 125;
  }
  const Refusal& refusal = *std::get_if<Refusal>(&done);
  Outcome outcome;
  outcome.error = refusal.error;
  outcome.started_at_ms = unix_ms();
  if (!refusal.changes.empty()) outcome.changes = refusal.changes;
  write_all(STDERR_FILENO, "sbx-run: " + error_line(refusal.error) + "\n");
  if (!is_read) write_all(STDOUT_FILENO, outcome_to_json(outcome) + "\n");
  return 125;
}

void out_of_memory() {
  constexpr std::string_view kSaid =
      "sbx-run: setup_failed: there is no memory left for this (name fewer paths)\n";
  write_all(STDERR_FILENO, kSaid);
  _exit(125);
}

}  // namespace
}  // namespace sbx

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(&sbx::out_of_memory);
  umask(077);
  struct rlimit files {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const sbx::Result<sbx::Action> action =
      sbx::read_action(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  if (!action.ok()) return sbx::answer(sbx::Refusal{action.error(), {}}, false);
  // What a server shows to a client is wanted as long as the server is there.
  if (action.value().patch) prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool is_read = action.value().terminal && !action.value().json;
  return sbx::answer(sbx::run(action.value()), is_read);
}
