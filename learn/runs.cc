// SPDX-License-Identifier: Apache-2.0
// sbx-run is the only thing that is started.
#include "learn/runs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/files.h"
#include "host_files/places.h"
#include "host_files/remove_tree.h"
#include "json/reader.h"
#include "kept/store.h"
#include "learn/profile_file.h"
#include "policy/policy.h"

namespace sbx::learn {
namespace {

constexpr std::size_t kMostResult = std::size_t{256} << 20;
constexpr std::size_t kMostPath = 4096;
constexpr std::int64_t kRoomForTheLayerMb = 2048;
constexpr int kMostTries = 16;
constexpr const char* kWorkspaceFile = "/workspace";  // of a place: whose layer is called by it

Document hidden(const std::string& path) {
  return {{"path", path}, {"access", "none"}, {"optional", true}};
}

void hide(const std::vector<std::string>& paths, Document& profile) {
  Document& filesystem = profile["filesystem"];
  Document& roots = filesystem.contains("roots") ? filesystem["roots"] : filesystem["+roots"];
  if (!roots.is_array()) roots = Document::array();
  for (const std::string& path : paths) {
    const auto known = std::find_if(roots.begin(), roots.end(), [&](const Document& root) {
      return root.is_object() && root.value("path", "") == path;
    });
    if (known == roots.end()) {
      roots.push_back(hidden(path));
    } else {
      *known = hidden(path);
    }
  }
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "null";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

using Refusals = std::set<std::pair<std::string, std::string>>;

// But for those of this machine's own ports and sockets, which no run reaches, in whatever way.
Refusals refusals_of(const nlohmann::json& result, bool with_limits) {
  Refusals out;
  for (const nlohmann::json& denial : result.value("denials", nlohmann::json::array())) {
    const std::string grant = text_of(denial, "grant");
    if (grant.starts_with("network.unix_sockets") || grant.starts_with("network.host_ports")) {
      continue;
    }
    if (grant.starts_with("limits.") && !with_limits) continue;
    out.emplace(text_of(denial, "operation"), text_of(denial, "target"));
  }
  return out;
}

// The first of `paths` that is this user's alone, made where it is missing.
Result<std::string> first_private_directory(const std::vector<std::string>& paths) {
  Error last;
  for (const std::string& path : paths) {
    const Result<OwnedFd> opened = open_private_directory(path);
    if (opened.ok()) return path;
    last = opened.error();
  }
  return last;
}

std::vector<std::string> command_of(const LearnOptions& options) {
  if (!options.command.empty()) return {"-c", options.command};
  std::vector<std::string> words = {"--"};
  words.insert(words.end(), options.argv.begin(), options.argv.end());
  return words;
}

// The answer comes when the command has ended; meanwhile a signal is the child's as well.
void wait_for_answer(int reader, pid_t child, int signal_fd) {
  for (;;) {
    struct pollfd ready[2] = {{reader, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[0].revents != 0) return;
    if (ready[1].revents == 0) continue;
    kill(child, waiting_signal());
    signal_fd = -1;
  }
}

// What sbx-run writes to its standard output. Errors: kCancelled once a signal has come, but where
// `signal_fd` is -1: then nothing interrupts it.
Result<std::string> output_of(std::vector<std::string> words, int signal_fd) {
  const bool is_shielded = signal_fd < 0;
  if (!is_shielded && waiting_signal() != 0) return told();
  SBX_TRY(const std::string program, companion("sbx-run"));
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return call_failed(ErrorCode::kSetupFailed, "pipe", "learn");
  OwnedFd reader(ends[0]);
  OwnedFd writer(ends[1]);
  const pid_t child = fork();
  if (child < 0) return call_failed(ErrorCode::kSetupFailed, "fork", "learn");
  if (child == 0) {
    // The command's own directory is another one, and who is told of this one looks at it.
    unsetenv("PWD");
    unsetenv("OLDPWD");
    sigset_t none;
    sigemptyset(&none);
    if (!is_shielded) sigprocmask(SIG_SETMASK, &none, nullptr);
    if (is_shielded && dup2(writer.get(), STDERR_FILENO) < 0) _exit(125);
    if (dup2(writer.get(), STDOUT_FILENO) >= 0) execv(program.c_str(), argv.data());
    _exit(125);
  }
  writer.reset();
  wait_for_answer(reader.get(), child, signal_fd);
  Result<std::string> text = read_up_to(reader.get(), kMostResult);
  reader.reset();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_shielded && waiting_signal() != 0) return told();
  return text;
}

// False: a run still holds it. There is none where the run did not begin.
bool discard(const std::string& layer, const std::string& workspace) {
  const Result<std::string> text =
      output_of({"layer", "discard", layer, "--workspace", workspace, "--json"}, -1);
  return !text.ok() || text.value().find("layer_in_use") == std::string::npos;
}

std::string layer_of(const std::string& place) {
  return "learn-" + place.substr(place.rfind('/') + 1);
}

// Of one whose process was killed nobody holds the lock.
void remove_leftovers(const std::string& parent) {
  Listing listing(parent);
  while (const dirent* entry = listing.next()) {
    const std::string path = parent + "/" + entry->d_name;
    const OwnedFd lock(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const Result<std::string> workspace = read_file(path + kWorkspaceFile, kMostPath);
    if (workspace.ok() && !discard(layer_of(path), workspace.value())) continue;
    remove_tree(path);
  }
}

}  // namespace

Error told() { return Error{ErrorCode::kCancelled, "a signal ended it", "learn", ""}; }

RunProfiles::~RunProfiles() {
  if (!path_.empty()) remove_tree(path_);
}

Status RunProfiles::make(const LearnOptions& options) {
  // Below directories for all runs of a user: who learns at the same time is hidden with them.
  if (!options.state.empty()) parents_.push_back(options.state + "/learn");
  parents_.push_back("/tmp/sbx-learn-" + std::to_string(geteuid()));
  SBX_TRY(const std::string parent, first_private_directory(parents_));
  remove_leftovers(parent);
  for (int i = 0; i < kMostTries; ++i) {
    std::string path = parent + "/XXXXXX";
    if (mkdtemp(path.data()) == nullptr)
      return call_failed(ErrorCode::kSetupFailed, "mkdtemp", "learn");
    lock_ = OwnedFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // Another one may have taken it for a leftover already. NFS has no locks of directories: there
    // nobody is taken for one.
    const bool is_others = flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (is_others || access(path.c_str(), F_OK) != 0) continue;
    path_ = std::move(path);
    return replace_file(path_ + kWorkspaceFile, options.workspace);
  }
  return call_failed(ErrorCode::kSetupFailed, "flock(" + parent + ")", "learn");
}

std::string RunProfiles::name() const { return layer_of(path_); }

Result<std::string> RunProfiles::write(const Document& profile) const {
  const std::string path = path_ + "/learned.json";
  SBX_CHECK_OK(replace_file(path, profile.dump() + "\n"));
  return path;
}

Document everything_shown(const Document& parents, bool has_rules,
                          const std::vector<std::string>& places,
                          const std::vector<std::string>& read_only) {
  Document profile = Document::parse(R"({
    "extends": "", "name": "learn",
    "filesystem": {"base": "host", "home": "host",
      "roots": [{"path": "${workspace}", "access": "rw"}]},
    "network": {"mode": "outbound"},
    "limits": {"timeout_ms": null, "cpu_ms": null, "file_kb": null, "tmp_mb": 4096,
      "pids": 8192, "open_files": null},
    "commands": {"allow": null}
  })");
  profile["extends"] = parents;
  for (const std::string_view path : kWritten) {
    if (std::find(read_only.begin(), read_only.end(), path) != read_only.end()) continue;
    profile["filesystem"]["roots"].push_back(
        {{"path", path}, {"access", "rw"}, {"optional", true}});
  }
  if (has_rules) profile.erase("network");
  hide(places, profile);
  return profile;
}

Document as_run(Document profile) {
  hide({"${workspace}/**/.env", "${workspace}/**/.env.*"}, profile);
  profile["commands"]["ask"] = Document::array();
  profile["commands"].erase("+ask");
  return profile;
}

Document with_room(Document profile, std::int64_t tmp_mb) {
  profile["limits"]["tmp_mb"] = tmp_mb + kRoomForTheLayerMb;
  return profile;
}

bool has_layer_on_disk(const LearnOptions& options, const std::string& profile,
                       const std::string& layer) {
  const Result<std::string> text =
      output_of({"explain", "--json", "--profile", profile, "--layer", layer, "--workspace",
                 options.workspace, "--", "true"},
                options.signal_fd);
  if (!text.ok()) return false;
  const Result<nlohmann::json> explained =
      read_json_strict(text.value(), {.max_bytes = kMostResult});
  if (!explained.ok() || !explained.value().is_object()) return false;
  const nlohmann::json& told = explained.value().value("layer", nlohmann::json());
  return told.is_object() && told.value("kind", "") == "overlay";
}

Result<nlohmann::json> run_under(const LearnOptions& options, const std::string& profile,
                                 const std::string& layer) {
  std::vector<std::string> words = {"run",  "--profile",       profile,       "--format",
                                    "json", "--trace-denials", "--workspace", options.workspace};
  if (layer.empty()) {
    words.emplace_back("--overlay");
  } else {
    words.insert(words.end(), {"--layer", layer});
  }
  const std::vector<std::string> command = command_of(options);
  words.insert(words.end(), command.begin(), command.end());
  const Result<std::string> text = output_of(std::move(words), options.signal_fd);
  if (!layer.empty()) discard(layer, options.workspace);
  if (!text.ok()) return text.error();
  SBX_TRY(nlohmann::json result, read_json_strict(text.value(), {.max_bytes = kMostResult}));
  const nlohmann::json& error = result.value("error", nlohmann::json());
  if (result.value("status", "") != "error" || !error.is_object()) return result;
  // A program that is not shown is a refusal like any other.
  if (!result.value("denials", nlohmann::json::array()).empty()) return result;
  return Error{ErrorCode::kSetupFailed,
               "the command could not be run: " + text_of(error, "message"), "learn",
               error["hint"].is_string() ? text_of(error, "hint") : ""};
}

Result<nlohmann::json> asked_about(const LearnOptions& options, const std::string& profile) {
  std::vector<std::string> words = {"check", "--json",      "--profile",
                                    profile, "--workspace", options.workspace};
  const std::vector<std::string> command = command_of(options);
  words.insert(words.end(), command.begin(), command.end());
  SBX_TRY(const std::string text, output_of(std::move(words), options.signal_fd));
  SBX_TRY(const nlohmann::json checked, read_json_strict(text, {.max_bytes = kMostResult}));
  nlohmann::json asks = nlohmann::json::array();
  for (const nlohmann::json& rule : checked.value("rules", nlohmann::json::array())) {
    if (rule.value("verdict", "") == "ask") asks.push_back(rule);
  }
  return asks;
}

std::vector<std::string> not_copied(const nlohmann::json& result) {
  std::vector<std::string> paths;
  for (const nlohmann::json& denial : result.value("denials", nlohmann::json::array())) {
    if (text_of(denial, "grant") == kWithoutLayer) paths.push_back(text_of(denial, "target"));
  }
  return paths;
}

bool printed_alike(const nlohmann::json& wide, const nlohmann::json& narrow) {
  return text_of(wide, "exit_code") == text_of(narrow, "exit_code") &&
         text_of(wide, "stderr") == text_of(narrow, "stderr");
}

std::vector<std::string> differences(const nlohmann::json& wide, const nlohmann::json& narrow) {
  std::vector<std::string> out;
  for (const char* key : {"status", "exit_code", "signal"}) {
    const std::string first = text_of(wide, key);
    const std::string second = text_of(narrow, key);
    if (first == second) continue;
    std::string line = key;
    line += ": " + first + " where everything is shown, " + second + " under the profile";
    out.push_back(std::move(line));
  }
  const Refusals known = refusals_of(wide, true);
  for (const auto& [operation, target] : refusals_of(narrow, !printed_alike(wide, narrow))) {
    if (known.count({operation, target}) != 0) continue;
    std::string line = "refused under the profile: " + operation;
    out.push_back(std::move(line) + " " + target);
  }
  return out;
}

}  // namespace sbx::learn
