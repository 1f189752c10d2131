// SPDX-License-Identifier: Apache-2.0
// The order in which a run is made ready: profile, workspace, policy, request.
#include "prepare.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/files.h"
#include "base/loop.h"
#include "base/paths.h"
#include "base/system_places.h"
#include "base/text.h"
#include "flags.h"
#include "host/globs.h"
#include "host/outside_program.h"
#include "host/view_roots.h"
#include "host_files/places.h"
#include "policy/policy.h"
#include "project.h"
#include "rpc/socket_place.h"
#include "run/http_process.h"
#include "run/redaction.h"
#include "scope.h"
#include "tools/tool.h"

namespace sbx {
namespace {

std::string lookup(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string absolute_or_none(const Environment& environment, std::string_view name) {
  const std::string value = lookup(environment, name);
  return value.starts_with('/') ? value : "";
}

// An existing directory, with every symlink resolved.
Result<std::string> real_directory(const std::string& path, const std::string& where,
                                   ErrorCode code) {
  Result<std::string> real = real_path(path);
  struct stat info {};
  const bool is_there = real.ok() && stat(real.value().c_str(), &info) == 0;
  if (is_there && S_ISDIR(info.st_mode)) return real;
  const int error = is_there ? ENOTDIR : real.ok() ? errno : real.error().sys_errno;
  const char* const what =
      error == EACCES ? "a directory above it cannot be entered: " : "no such directory: ";
  return call_failed(code, what + path, where, "name an existing directory", error);
}

constexpr const char* kHere = "the current directory";

// Where nobody works, and where a writable workspace would be the machine itself.
bool is_system_directory(std::string_view path) {
  if (path == "/") return true;
  if (is_below(path, "/var/tmp")) return false;
  static constexpr std::string_view kMore[] = {"/etc", "/var",  "/opt", "/boot",
                                               "/dev", "/proc", "/sys"};
  return is_system_place(path) || is_below_any(path, kMore);
}

// The current directory, unless the operator names another. `warnings` tell what it opens.
Result<std::string> choose_workspace(const RunOptions& options, const std::string& home,
                                     std::vector<std::string>& warnings) {
  if (!options.template_dir.empty()) {
    return real_directory(options.template_dir, "--template", ErrorCode::kPathNotFound);
  }
  const bool is_named = !options.workspace.empty();
  SBX_TRY(std::string chosen,
          is_named ? real_directory(options.workspace, "--workspace", ErrorCode::kPathNotFound)
                   : real_directory(".", kHere, ErrorCode::kPathNotFound));
  if (!is_named && is_system_directory(chosen)) {
    return Error{ErrorCode::kPathRefused,
                 "the current directory, " + chosen +
                     ", belongs to the system and is no workspace unless it is named",
                 "--workspace",
                 "go to the directory to work in, or name it: --workspace DIR (--workspace . for "
                 "this one)"};
  }
  const Result<std::string> real = real_directory(home, "HOME", ErrorCode::kPathNotFound);
  if (!home.empty() && real.ok() && is_below(real.value(), chosen)) {
    warnings.push_back("workspace: " + chosen +
                       " holds the whole home directory, with all that is "
                       "kept there; --workspace DIR names a narrower one");
  }
  return chosen;
}

// Below the workspace a command starts where its caller stands. Elsewhere that must be a directory
// that the policy shows, and the command starts in the workspace.
Status choose_start(Request& request, const Policy& policy) {
  SBX_TRY(std::string here, real_directory(".", kHere, ErrorCode::kCwdNotVisible));
  if (is_below(here, policy.sandbox.workspace)) {
    request.cwd = std::move(here);
  } else {
    request.started_in = std::move(here);
  }
  return {};
}

bool holds(const Root& root, const std::string& path) {
  if (root.pattern_at == 0) return is_below(path, root.path);
  const std::string base = root.head();
  const Result<std::string> real = real_path(base);
  const std::string& from = real.ok() ? real.value() : base;
  return glob_holds(whole_glob(from, std::string_view(root.path).substr(root.pattern_at)), path);
}

// What no root names, but for the base `host`; that has a /tmp of its own.
bool is_shown(const FilesystemProfile& filesystem, const std::string& path) {
  const auto shows = [&](const Root& root) {
    return root.access != Access::kNone && holds(root, path);
  };
  if (std::any_of(filesystem.roots.begin(), filesystem.roots.end(), shows)) return true;
  return filesystem.base == Base::kHost && !is_below(path, "/tmp");
}

// nullopt where nothing is there. Errors: what is there cannot be known.
Result<std::optional<std::string>> real_where_there(const std::string& path) {
  Result<std::string> real = real_path(path);
  if (real.ok()) return std::optional(std::move(real).value());
  const int error = real.error().sys_errno;
  if (is_missing(error) || (error == EACCES && is_closed_to_us(path))) {
    return std::optional<std::string>();
  }
  return call_failed(ErrorCode::kPathRefused, "what later runs go by cannot be looked at: " + path,
                     path, "make it readable, or name another by its environment variable", error);
}

// Whether nothing will run, and so nothing is made for it.
bool runs_nothing(const Invocation& invocation) {
  return invocation.verb->run == verb_explain || invocation.verb->run == verb_check;
}

// A session's token lies beside its socket. A command that could read it could hand it to whoever
// speaks for it, who would then be the operator. What is not there cannot be covered, and a session
// may start while the command runs: its directory is made first.
Result<std::vector<std::string>> shown_tokens(const FilesystemProfile& filesystem,
                                              const Invocation& invocation) {
  std::vector<std::string> shown;
  for (const std::string& path :
       runtime_directories(lookup(invocation.environment, "XDG_RUNTIME_DIR"))) {
    const std::size_t slash = path.rfind('/');
    SBX_TRY(const auto parent, real_where_there(path.substr(0, slash)));
    if (!parent || !is_shown(filesystem, *parent + path.substr(slash))) continue;
    if (!runs_nothing(invocation)) make_runtime_directory(path);
    SBX_TRY(const auto real, real_where_there(path));
    if (real && is_shown(filesystem, *real)) shown.push_back(*real);
  }
  return shown;
}

// The layers of all workspaces hold what runs were refused elsewhere, and while a run goes on a
// directory in them that nobody may list. Made first, where anything is kept: another run may make
// it. A root that names the place itself shows it.
Result<std::vector<std::string>> shown_layers(const FilesystemProfile& filesystem,
                                              const Invocation& invocation) {
  const Environment& environment = invocation.environment;
  const std::string path = layers_directory(environment);
  if (path.empty() || !is_shown(filesystem, real_start(path))) return std::vector<std::string>();
  if (!runs_nothing(invocation) && access(state_directory(environment).c_str(), F_OK) == 0) {
    (void)open_private_directory(path);
  }
  SBX_TRY(const auto real, real_where_there(path));
  const auto names_it = [&](const Root& root) { return real_start(root.path) == real; };
  const bool is_hidden =
      real && std::none_of(filesystem.roots.begin(), filesystem.roots.end(), names_it);
  return is_hidden ? std::vector{*real} : std::vector<std::string>();
}

// What later runs go by, the user's: what sbx keeps (layers, caches, trust), and profiles.
std::vector<std::string> own_places(const Environment& environment) {
  std::vector<std::string> places = {state_directory(environment),
                                     profile_search(environment).directories.front()};
  // Without a home the user has no profiles: the first are the machine's.
  std::erase_if(places, [](const std::string& path) {
    return path.empty() || is_below(path, parent_of(kManagedDirectory));
  });
  return places;
}

// Those that a root makes writable. The place is made first: what is not there cannot be protected,
// only reported if the command makes it. In a home that is not there nothing is kept, and nothing
// made.
Result<std::vector<std::string>> writable_state(const FilesystemProfile& filesystem,
                                                const Invocation& invocation) {
  const Environment& environment = invocation.environment;
  const auto is_writable = [&](const std::string& at) {
    return std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
      return root.access == Access::kReadWrite && holds(root, at);
    });
  };
  const auto is_within = [&](const std::string& at) {
    return std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
      return root.access == Access::kReadWrite && is_below(root.path, at);
    });
  };
  const std::string home = lookup(environment, "HOME");
  std::string machine(parent_of(kManagedDirectory));
  std::vector<std::string> found;
  for (const std::string& path : own_places(environment)) {
    // A link on the way that the command could make anew counts as well.
    const std::string start = real_start(path);
    if (!is_writable(start) && !is_within(start) && !is_writable(real_start(home))) continue;
    found.push_back(path);
    if (is_below(path, home) && access(home.c_str(), F_OK) != 0) {
      found.push_back(real_start(path));
      continue;
    }
    if (!runs_nothing(invocation)) make_directories(path);
    SBX_TRY(auto real, real_where_there(path));
    if (real) found.push_back(std::move(*real));
  }
  // The machine's profiles and managed policy.
  if (is_writable(machine) || is_within(machine)) found.push_back(std::move(machine));
  return found;
}

// "-", and the names under which a process finds its own descriptors.
std::optional<int> named_descriptor(const std::string& source) {
  if (source == "-" || source == "/dev/stdin") return 0;
  for (const std::string_view place : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!source.starts_with(place)) continue;
    const auto number = parse_count(std::string_view(source).substr(place.size()), 1 << 20);
    if (number) return static_cast<int>(*number);
  }
  return std::nullopt;
}

// Without a writer a FIFO is at its end. One that has come and gone is one that has been there.
Status await_writer(int fifo, const std::string& path, const StdinWait& wait) {
  struct pollfd ready[3] = {
      {fifo, POLLIN, 0}, {wait.signal_fd, POLLIN, 0}, {wait.owner_fd, POLLIN, 0}};
  const auto until = Loop::Clock::now() + std::chrono::milliseconds(wait.timeout_ms);
  int count = 0;
  do {
    count = poll(ready, 3, Loop::wait_ms(until));
  } while ((count < 0 && errno == EINTR) || (count == 0 && Loop::Clock::now() < until));
  if (ready[1].revents != 0 || ready[2].revents != 0) {
    return Error{ErrorCode::kCancelled, "cancelled before anybody wrote to " + path, "--stdin", ""};
  }
  if (count > 0) return {};
  return without_secrets({ErrorCode::kPathRefused,
                          "nobody has written to the FIFO " + path + " within " +
                              std::to_string(wait.timeout_ms) + " ms",
                          "--stdin", "start its writer first, or give more time with --timeout"});
}

// The nearest directory above that has a .git, where the workspace has none.
std::string repository_above(const std::string& workspace) {
  struct stat info {};
  for (std::string_view at = workspace; !at.empty() && at != "/"; at = parent_of(at)) {
    if (lstat(join_path(at, ".git").c_str(), &info) != 0) continue;
    return at == workspace ? "" : std::string(at);
  }
  return "";
}

std::int64_t machine_memory_mb() {
  return (static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)) >> 20;
}

// The project's own profile, as far as it is trusted. `warnings` tell of one that is not.
std::optional<LoadedProfile> load_project(const RunOptions& options, const Environment& environment,
                                          std::vector<std::string>& warnings) {
  const std::string& named = options.workspace;
  const std::string workspace = named.empty() ? "." : named;
  const std::string path = find_project_profile(workspace);
  if (path.empty()) {
    const std::string nearest = find_project(workspace);
    const std::string other = find_passed_over_profile(nearest);
    if (!other.empty()) {
      warnings.push_back("profile: " + std::string(parent_of(nearest)) +
                         ", which holds no profile.json, is nearer than " + other +
                         ", so this run went without that; remove the empty one where a command "
                         "made it");
    }
    return std::nullopt;
  }
  const TrustedFiles trusted = trusted_files(path, environment);
  Result<LoadedProfile> loaded =
      load_profile(path, profile_search(environment), options.with, &trusted);
  if (loaded.ok()) return std::move(loaded).value();
  // The project's directory, for a shell.
  const std::string directory = path.substr(
      0, path.size() - kProjectSettings.size() - std::string_view("//profile.json").size());
  warnings.push_back("profile: the project's own, " + path + ", " +
                     (trusted.empty() ? "is not trusted" : "has changed since it was trusted") +
                     ", so this run went without it; read it, then: sbx-run trust " +
                     display_arguments({directory.empty() ? "/" : directory}));
  const std::string above = find_passed_over_profile(path);
  if (!above.empty() && !trusted_files(above, environment).empty()) {
    warnings.back() += "; it went without " + above +
                       " too, which is trusted and further up: remove the nearer one where a "
                       "command made it";
  }
  return std::nullopt;
}

Result<LoadedProfile> load_named(const RunOptions& options, const Environment& environment,
                                 std::vector<std::string>& warnings) {
  std::string name = options.profile;
  if (name.empty()) name = lookup(environment, "SBX_PROFILE");
  if (name.empty()) {
    name = "default";
    if (auto project = load_project(options, environment, warnings)) return std::move(*project);
  }
  Result<LoadedProfile> loaded = load_profile(name, profile_search(environment), options.with);
  if (!loaded.ok() && loaded.error().where.empty()) {
    loaded.error().where = options.profile.empty() ? "SBX_PROFILE" : "--profile";
  }
  return loaded;
}

// The flags and variables, with what follows from them and the profile's files.
Result<OperatorFlags> all_flags(const RunOptions& options, const Environment& environment,
                                const LoadedProfile& loaded) {
  SBX_TRY(OperatorFlags flags, operator_flags(options, environment));
  if (!options.audit.empty()) {
    SBX_TRY(flags.audit_file, absolute_path(options.audit, "--audit"));
  }
  if (!options.result_file.empty()) {
    SBX_TRY(flags.own_files.emplace_back(), absolute_path(options.result_file, "--result-file"));
  }
  for (const std::string& file : options.protect) {
    SBX_TRY(flags.own_files.emplace_back(), absolute_path(file, "--protect"));
  }
  for (const std::string& file : loaded.files) {
    SBX_TRY(flags.own_files.emplace_back(), absolute_path(file, "--profile"));
  }
  const Result<std::string> top = real_path(options.workspace.empty() ? "." : options.workspace);
  if (top.ok()) {
    for (std::string& file : trusted_below(top.value(), environment)) {
      flags.own_files.push_back(std::move(file));
    }
  }
  SBX_TRY(flags.host_ports, parse_host_ports(options.host_ports));
  flags.no_timeout = options.timeout == kNoTimeout ||
                     (options.is_exec && options.timeout.empty() && !loaded.sets_timeout);
  flags.lower_required = options.allow_degraded && options.require.empty();
  return flags;
}

Result<PolicyContext> make_context(const RunOptions& options, const Environment& environment,
                                   const Profile& profile, const HostFacts& facts) {
  PolicyContext context;
  context.machine_memory_mb = machine_memory_mb();
  if (profile.workspace.mode != WorkspaceMode::kFresh) {
    SBX_TRY(context.workspace, choose_workspace(options, facts.home, context.warnings));
  }
  if (options.net == "allowlist" && options.allow_hosts.empty() && profile.network.allow.empty()) {
    context.warnings.emplace_back(
        "network: the list of allowed hosts is empty, so none can be reached; --allow-host HOST "
        "adds "
        "one");
  }
  context.repository = repository_above(context.workspace);
  context.home = absolute_or_none(environment, "HOME");
  context.runtime = absolute_or_none(environment, "XDG_RUNTIME_DIR");
  context.ssh_agent = absolute_or_none(environment, "SSH_AUTH_SOCK");
  if (!profile.caches.empty()) {
    SBX_TRY(context.caches, cache_place(environment));
  }
  context.xauthority = absolute_or_none(environment, "XAUTHORITY");
  if (profile.filesystem.home == HomeMode::kHost) {
    // Roots have no symlinks.
    const Result<std::string> real = real_directory(facts.home, "HOME", ErrorCode::kPathNotFound);
    context.home = real.ok() ? real.value() : facts.home;
  }
  return context;
}

// Where something will run. The invocation loses the variables that hold secrets: nobody else has
// read them yet.
Result<Policy> with_http_started(Policy policy, const Invocation& invocation) {
  std::vector<std::string> withheld = values_in_files(policy.run.withheld);
  if (!withheld.empty()) policy = with_withheld(std::move(policy), std::move(withheld));
  NetworkProfile network = policy.sandbox.network;
  if (network.http.empty() && network.credentials.empty()) return policy;
  if (runs_nothing(invocation)) return policy;
  const std::string search_path =
      outside_search_path(policy, lookup(invocation.environment, "PATH"));
  for (std::size_t i = 0; i < network.credentials.size(); ++i) {
    auto& command = network.credentials[i].from.command;
    if (!command) continue;
    SBX_TRY(command, outside_command(policy, search_path, std::move(*command),
                                     "/network/credentials/" + std::to_string(i) + "/from"));
  }
  SBX_TRY(auto http, session_http().policy_for(network, policy.run.environment.set, search_path,
                                               const_cast<Environment&>(invocation.environment)));
  return with_http(std::move(policy), std::move(http));
}

Result<SessionOptions> make_session(const RunOptions& options, const Invocation& invocation,
                                    std::string_view tool) {
  const Environment& environment = invocation.environment;
  if (options.scope) SBX_CHECK_OK(take_scope(invocation));
  std::vector<std::string> warnings;
  SBX_TRY(Managed managed, read_managed(kManagedDirectory));
  SBX_TRY(LoadedProfile loaded, load_named(options, environment, warnings));
  SBX_CHECK_OK(check_forbidden(managed, loaded.names, profile_search(environment)));
  SBX_TRY(const OperatorFlags flags, all_flags(options, environment, loaded));
  const std::string home = lookup(environment, "HOME");
  SessionOptions out;
  out.facts = read_quick_facts(home.empty() ? nullptr : home.c_str());
  SBX_TRY(PolicyContext context, make_context(options, environment, loaded.profile, out.facts));
  context.warnings.insert(context.warnings.begin(), warnings.begin(), warnings.end());
  // Of the profile as it was loaded: no flag and no variable changes it.
  const bool is_audited =
      !flags.audit_file.empty() || !loaded.profile.audit.file.empty() || !managed.empty();
  context.managed = std::move(managed);
  if (is_audited) context.profile_sha256 = loaded.sha256();
  fit_profile(tool, loaded);
  SBX_TRY(Policy policy, make_policy(std::move(loaded.profile), flags, std::move(context)));
  SBX_TRY(const std::vector<std::string> state,
          writable_state(policy.sandbox.filesystem, invocation));
  policy = with_own_files(std::move(policy), state);
  policy = with_own_places(std::move(policy), own_places(environment));
  SBX_TRY(std::vector<std::string> tokens, shown_tokens(policy.sandbox.filesystem, invocation));
  policy = with_hidden(std::move(policy), std::move(tokens), kSessionPlaces);
  SBX_TRY(std::vector<std::string> layers, shown_layers(policy.sandbox.filesystem, invocation));
  policy = with_hidden(std::move(policy), std::move(layers), kSessionPlaces);
  SBX_TRY(policy, with_http_started(std::move(policy), invocation));
  out.policy = std::make_shared<const Policy>(std::move(policy));
  out.http = &session_http();
  out.inherited = environment;
  out.approved = options.approve;
  return out;
}

Status fill(const RunOptions& options, const Invocation& invocation, Prepared& out) {
  SBX_TRY(SessionOptions session, make_session(options, invocation, {}));
  out.policy = std::move(session.policy);
  out.facts = std::move(session.facts);
  Request& request = out.request;
  request.argv = options.program;
  request.command = options.program.empty() ? options.command : display_arguments(options.program);
  request.approval = options.approve;
  if (!options.description.empty()) request.description = options.description;
  SBX_CHECK_OK(check_flag_roots(*out.policy));
  SBX_CHECK_OK(check_command(options, *invocation.verb));
  const bool is_fresh = out.policy->run.workspace.mode == WorkspaceMode::kFresh;
  if (!options.cwd.empty() && is_fresh) {
    request.cwd = options.cwd;  // relative to what does not exist yet
  } else if (!options.cwd.empty()) {
    const std::string path = options.cwd.starts_with('/')
                                 ? options.cwd
                                 : out.policy->sandbox.workspace + "/" + options.cwd;
    SBX_TRY(request.cwd, real_directory(path, "--cwd", ErrorCode::kCwdNotVisible));
  } else if (!options.workspace.empty() && !is_fresh) {
    SBX_CHECK_OK(choose_start(request, *out.policy));
  }
  return {};
}

}  // namespace

// Never destroyed: policies may outlive all else.
HttpProcess& session_http() {
  static auto& process = *new HttpProcess();
  return process;
}

ProfileSearch profile_search(const Environment& environment) {
  ProfileSearch search;
  const std::string config = lookup(environment, "XDG_CONFIG_HOME");
  const std::string home = lookup(environment, "HOME");
  if (config.starts_with('/')) {
    search.directories.push_back(config + "/sbx/profiles");
  } else if (home.starts_with('/')) {
    search.directories.push_back(home + "/.config/sbx/profiles");
  }
  search.directories.emplace_back("/etc/sbx/profiles");
  return search;
}

Result<std::string> default_workspace(const RunOptions& options, const Invocation& invocation,
                                      std::vector<std::string>& warnings) {
  std::vector<std::string> of_profile;  // the run itself says it
  SBX_TRY(const LoadedProfile loaded, load_named(options, invocation.environment, of_profile));
  if (loaded.profile.workspace.mode == WorkspaceMode::kFresh) return std::string();
  const std::string home = lookup(invocation.environment, "HOME");
  return choose_workspace(options, read_quick_facts(home.empty() ? nullptr : home.c_str()).home,
                          warnings);
}

Result<SessionOptions> prepare_session(const RunOptions& options, const Invocation& invocation,
                                       std::string_view tool) {
  Result<SessionOptions> made = make_session(options, invocation, tool);
  if (made.ok()) {
    if (Status roots = check_flag_roots(*made.value().policy); !roots.ok()) made = roots.error();
  }
  return without_secrets(std::move(made));
}

Status prepare(const RunOptions& options, const Invocation& invocation, Prepared& out) {
  const Status status = fill(options, invocation, out);
  return status.ok() ? status : without_secrets(status.error());
}

Result<Prepared> prepare(const RunOptions& options, const Invocation& invocation) {
  Prepared out;
  SBX_CHECK_OK(prepare(options, invocation, out));
  return out;
}

Status check_command(const RunOptions& options, const Verb& verb) {
  if (options.program.empty() != options.command.empty()) return {};
  const std::string own = verb_title(verb);
  return Error{ErrorCode::kBadFlag,
               options.command.empty() ? "there is no command to run"
                                       : "-c COMMAND and -- PROGRAM exclude each other",
               "-c", own + " -- PROGRAM [ARG...], or " + own + " -c COMMAND"};
}

Result<int> choose_stdin(const std::string& source, OwnedFd& opened, const StdinWait& wait) {
  if (source.empty() || source == "none") return -1;
  // Opened by such a name, a pipe would be another one's end, and a socket cannot be opened.
  const std::optional<int> number = named_descriptor(source);
  if (number == 0) {
    SBX_CHECK_OK(check_standard_descriptor(0));
    return 0;
  }
  opened.reset(number ? fcntl(*number, F_DUPFD_CLOEXEC, 3)
                      : open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  const bool is_open = opened.is_open() && fstat(opened.get(), &info) == 0;
  const int error = is_open ? 0 : errno;
  const bool is_good = S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) ||
                       (number && S_ISSOCK(info.st_mode));
  if (!is_open || !is_good || (fcntl(opened.get(), F_GETFL) & O_ACCMODE) == O_WRONLY) {
    return without_secrets(
        {error == ENOENT ? ErrorCode::kPathNotFound : ErrorCode::kPathRefused,
         "cannot be read as standard input: " + source +
             (error == 0 ? "" : ": " + errno_text(error)),
         "--stdin", "name a regular file, a FIFO, a character device, - (the caller's own) or none",
         error});
  }
  if (number) return opened.get();
  if (S_ISFIFO(info.st_mode)) SBX_CHECK_OK(await_writer(opened.get(), source, wait));
  fcntl(opened.get(), F_SETFL, 0);
  return opened.get();
}

}  // namespace sbx
