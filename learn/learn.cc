// SPDX-License-Identifier: Apache-2.0
// One run with everything shown says how the command ends and what it connects to. Then runs under
// the profile itself, each with the grants of what the one before was refused: the last of them,
// which is refused nothing more, is the proof.
#include "learn/learn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "host_files/remove_tree.h"
#include "json/reader.h"
#include "learn/grants.h"
#include "learn/profile_file.h"
#include "process.h"

namespace sbx::learn {
namespace {

constexpr std::size_t kMostProfile = std::size_t{1} << 20;
constexpr std::size_t kMostResult = std::size_t{256} << 20;
constexpr int kMostRuns = 24;
constexpr std::size_t kManyInOneDirectory = 4;  // then the directory is granted

Error failed(const std::string& call) {
  return Error{ErrorCode::kSetupFailed, call + ": " + errno_text(errno), "learn", "", errno};
}

// A directory for the profiles of the runs, which no run shows.
class Place {
 public:
  ~Place() {
    if (!path_.empty()) remove_tree(path_);
  }
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  Status make() {
    std::string name = "/tmp/sbx-learn-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return failed("mkdtemp");
    path_ = std::move(name);
    return {};
  }
  Result<std::string> write(const Document& profile) const {
    const std::string path = path_ + "/learned.json";
    SBX_CHECK_OK(replace_file(path, profile.dump() + "\n"));
    return path;
  }

 private:
  std::string path_;
};

// What sbx-run says of the command under a profile.
Result<nlohmann::json> run(const LearnOptions& options, const std::string& profile) {
  SBX_TRY(const std::string program, companion("sbx-run"));
  std::vector<std::string> words = {
      program,    "run",  "--profile",   profile,           "--overlay", "--trace-denials",
      "--format", "json", "--workspace", options.workspace, "--"};
  words.insert(words.end(), options.argv.begin(), options.argv.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
  OwnedFd reader(ends[0]);
  OwnedFd writer(ends[1]);
  const pid_t child = fork();
  if (child < 0) return failed("fork");
  if (child == 0) {
    // The command's own directory is another one, and who is told of this one looks at it.
    unsetenv("PWD");
    unsetenv("OLDPWD");
    if (dup2(writer.get(), STDOUT_FILENO) >= 0) execv(program.c_str(), argv.data());
    _exit(125);
  }
  writer.reset();
  const Result<std::string> text = read_up_to(reader.get(), kMostResult);
  reader.reset();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text.ok()) return text.error();
  SBX_TRY(nlohmann::json result, read_json_strict(text.value(), {.max_bytes = kMostResult}));
  const nlohmann::json& error = result.value("error", nlohmann::json());
  if (result.value("status", "") != "error" || !error.is_object()) return result;
  return Error{ErrorCode::kSetupFailed,
               "the command could not be run: " + error.value("message", std::string()), "learn",
               ""};
}

Document hidden(const std::string& path) {
  return {{"path", path}, {"access", "none"}, {"optional", true}};
}

// Hides in every run what no profile is to learn.
void hide_secrets(Document& profile, bool with_places) {
  Document& filesystem = profile["filesystem"];
  Document& roots = filesystem.contains("roots") ? filesystem["roots"] : filesystem["+roots"];
  if (!roots.is_array()) roots = Document::array();
  for (const char* pattern : {"${workspace}/**/.env", "${workspace}/**/.env.*"}) {
    roots.push_back(hidden(pattern));
  }
  if (!with_places) return;
  for (const std::string& place : secret_places()) roots.push_back(hidden(place));
}

Document everything_shown() {
  Document profile = Document::parse(R"({
    "extends": "default", "name": "learn",
    "filesystem": {"base": "host", "home": "host",
      "roots": [{"path": "/tmp", "access": "rw"}, {"path": "/var/tmp", "access": "rw", "optional": true},
                {"path": "${home}", "access": "rw", "optional": true},
                {"path": "${workspace}", "access": "rw"}]},
    "network": {"mode": "outbound"},
    "limits": {"timeout_ms": null},
    "commands": {"ask": []}
  })");
  hide_secrets(profile, true);
  return profile;
}

// What was connected to: names as names, addresses as addresses.
std::vector<std::string> hosts_of(const nlohmann::json& result) {
  std::vector<std::string> hosts;
  const auto connections = result.find("connections");
  if (connections == result.end()) return hosts;
  for (const nlohmann::json& connection : *connections) {
    const nlohmann::json& name = connection.value("name", nlohmann::json());
    const nlohmann::json& address = connection.value("address", nlohmann::json());
    std::string host;
    if (name.is_string()) host = name.get<std::string>();
    if (host.empty() && address.is_string()) host = address.get<std::string>();
    if (host.empty()) continue;
    if (host.find(':') != host.npos) host = "[" + host + "]";
    host += ":" + std::to_string(connection.value("port", 0));
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

class Learner {
 public:
  explicit Learner(const LearnOptions& options) : options_(options) {
    own_ = {options.out.empty() ? options.workspace + "/.sbx" : options.out};
    if (!options.state.empty()) own_.push_back(options.state);
  }

  Status begin() {
    SBX_CHECK_OK(place_.make());
    profile_ = {{"extends", "default"}};
    if (options_.merge.empty()) return {};
    SBX_TRY(before_, read_file(options_.merge, kMostProfile));
    const std::vector<Error> errors =
        validate_profile_text(before_, options_.merge, options_.search);
    if (!errors.empty()) return errors.front();
    profile_ = Document::parse(before_, nullptr, false);
    return {};
  }

  // How the command ends where everything is shown, and what it connects to.
  Status observe() {
    SBX_TRY(const std::string path, place_.write(everything_shown()));
    SBX_TRY(wide_, run(options_, path));
    for (const std::string& host : hosts_of(wide_)) take("network.allow += [\"" + host + "\"]");
    return {};
  }

  // Until nothing that could be granted is refused any more.
  Status narrow() {
    for (int i = 0; i < kMostRuns; ++i) {
      Document profile = profile_;
      hide_secrets(profile, false);
      SBX_TRY(const std::string path, place_.write(profile));
      SBX_TRY(last_, run(options_, path));
      SBX_TRY(const std::vector<std::string> grants, grants_of(last_));
      left_.clear();
      bool is_changed = false;
      for (const std::string& text : grants) is_changed |= take(text);
      is_changed |= join_directories();
      is_settled_ = !is_changed;
      if (is_settled_) return {};
    }
    return {};
  }

  bool is_proven() const {
    for (const char* key : {"status", "exit_code", "signal"}) {
      if (wide_.value(key, nlohmann::json()) != last_.value(key, nlohmann::json())) return false;
    }
    return is_settled_;
  }

  Result<int> finish() {
    const std::string text = profile_.dump(before_.empty() ? 2 : indent_of(before_)) + "\n";
    const bool is_good = is_proven();
    bool is_written = false;
    write_all(STDERR_FILENO, difference(before_, text));
    for (const std::string& line : left_) {
      write_all(STDERR_FILENO, "sbx-run: " + escape_control_bytes(line) + "\n");
    }
    if (is_good && !options_.out.empty() && is_wanted(options_.out, options_.yes)) {
      SBX_CHECK_OK(replace_file(options_.out, text));
      is_written = true;
    }
    Document answer = {{"proven", is_good}, {"written", is_written}};
    answer["out"] = options_.out.empty() ? Document() : Document(options_.out);
    for (const char* key : {"status", "exit_code", "signal"})
      answer[key] = wide_.value(key, nlohmann::json());
    answer["second_run"] = {{"status", last_["status"]},
                            {"exit_code", last_["exit_code"]},
                            {"denials", last_["denials"]}};
    answer["profile"] = profile_;
    answer["grants"] = taken_;
    answer["refused"] = left_;
    write_all(STDOUT_FILENO,
              answer.dump(-1, ' ', false, Document::error_handler_t::replace) + "\n");
    return is_good && (is_written || options_.out.empty()) ? 0 : 125;
  }

 private:
  // Whether the profile is another one with it.
  bool take(const std::string& text) {
    Result<Grant> grant = parse_grant(text);
    if (!grant.ok()) {
      note("left to you: " + text);
      return false;
    }
    const std::string why = never_granted(grant.value(), options_.home, own_);
    if (!why.empty()) {
      note("not granted: " + text + ": " + why);
      return false;
    }
    if (grant.value().key == "roots") {
      for (Document& root : grant.value().value) name_by_variable(root);
      grant.value().is_known = false;
    }
    Document with = profile_;
    if (!add_grant(grant.value(), with)) return false;
    if (grant.value().section == "network" && grant.value().key == "allow") {
      with["network"]["mode"] = "allowlist";
    }
    profile_ = std::move(with);
    taken_.push_back(text);
    return true;
  }

  void note(std::string line) {
    if (std::find(left_.begin(), left_.end(), line) == left_.end())
      left_.push_back(std::move(line));
  }

  // So that the profile is good for another checkout and another user.
  void name_by_variable(Document& root) const {
    if (!root.is_object() || !root.contains("path")) return;
    std::string path = root["path"].get<std::string>();
    for (const auto& [place, name] :
         {std::pair(&options_.workspace, "${workspace}"), std::pair(&options_.home, "${home}")}) {
      const bool is_in = place->size() > 1 && path.starts_with(*place + "/");
      if (is_in) path = name + path.substr(place->size());
    }
    root["path"] = path;
    root["optional"] = true;
  }

  // Several files of one directory stand for the directory.
  bool join_directories() {
    const auto filesystem = profile_.find("filesystem");
    if (filesystem == profile_.end() || !filesystem->contains("+roots")) return false;
    Document& roots = (*filesystem)["+roots"];
    std::map<std::string, std::vector<std::string>> by_directory;
    for (const Document& root : roots) {
      const std::string path = root.value("path", std::string());
      if (root.value("access", std::string("ro")) != "ro") continue;
      by_directory[path.substr(0, path.rfind('/'))].push_back(path);
    }
    bool is_changed = false;
    for (const auto& [directory, paths] : by_directory) {
      if (paths.size() < kManyInOneDirectory) continue;
      const Document root = {{"path", directory}, {"access", "ro"}, {"optional", true}};
      const Grant grant{"filesystem", "roots", true, Document::array({root}), false};
      if (directory.empty() || !never_granted(grant, options_.home, own_).empty()) continue;
      Document kept = Document::array();
      for (const Document& one : roots) {
        const std::string path = one.value("path", std::string());
        if (std::find(paths.begin(), paths.end(), path) == paths.end()) kept.push_back(one);
      }
      kept.push_back(root);
      roots = std::move(kept);
      taken_.push_back("directory " + directory + ": " + std::to_string(paths.size()) +
                       " files of it");
      is_changed = true;
    }
    return is_changed;
  }

  const LearnOptions& options_;
  Place place_;
  std::string before_;
  Document profile_;
  nlohmann::json wide_;
  nlohmann::json last_;
  std::vector<std::string> own_;
  std::vector<std::string> taken_;
  std::vector<std::string> left_;  // what the last run was refused, and stays so
  bool is_settled_ = false;
};

}  // namespace

Result<int> learn(const LearnOptions& options) {
  Learner learner(options);
  SBX_CHECK_OK(learner.begin());
  SBX_CHECK_OK(learner.observe());
  SBX_CHECK_OK(learner.narrow());
  return learner.finish();
}

}  // namespace sbx::learn
