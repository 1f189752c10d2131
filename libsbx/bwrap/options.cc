// SPDX-License-Identifier: Apache-2.0
// The parser, and the rules between options.
#include "bwrap/options.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/by_number.h"
#include "bwrap/option_table.h"

namespace sbx::bwrap {
namespace {

constexpr int kMaxArguments = 9000;
constexpr unsigned long kMaxPerms = 07777;
constexpr std::uint64_t kMaxTmpfsBytes = UINT64_MAX >> 1;

Error wrong(std::string message) { return Error{ErrorCode::kBadFlag, std::move(message), "", ""}; }

Result<int> number(const char* what, const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 0 || value > INT_MAX) {
    return wrong(std::string("Invalid ") + what + ": " + text);
  }
  return static_cast<int>(value);
}

struct FlagField {
  std::string_view name;
  bool Options::*field;
};
constexpr FlagField kFlags[] = {
    {"--level-prefix", &Options::level_prefix},
    {"--unshare-user", &Options::unshare_user},
    {"--unshare-user-try", &Options::unshare_user_try},
    {"--unshare-ipc", &Options::unshare_ipc},
    {"--unshare-pid", &Options::unshare_pid},
    {"--unshare-net", &Options::unshare_net},
    {"--unshare-uts", &Options::unshare_uts},
    {"--unshare-cgroup", &Options::unshare_cgroup},
    {"--unshare-cgroup-try", &Options::unshare_cgroup_try},
    {"--disable-userns", &Options::disable_userns},
    {"--assert-userns-disabled", &Options::assert_userns_disabled},
    {"--new-session", &Options::new_session},
    {"--die-with-parent", &Options::die_with_parent},
    {"--as-pid-1", &Options::as_pid_1},
};

struct FdField {
  std::string_view name;
  int Options::*field;
};
constexpr FdField kFds[] = {
    {"--sync-fd", &Options::sync_fd},
    {"--block-fd", &Options::block_fd},
    {"--userns-block-fd", &Options::userns_block_fd},
    {"--info-fd", &Options::info_fd},
    {"--json-status-fd", &Options::json_status_fd},
    {"--userns", &Options::userns_fd},
    {"--userns2", &Options::userns2_fd},
    {"--pidns", &Options::pidns_fd},
};

class Parser {
 public:
  Parser(const ReadData& read_data, Options& options) : read_data_(read_data), options_(options) {}

  Result<Wanted> run(const std::vector<std::string>& arguments) {
    total_ = arguments.size();
    SBX_TRY(const Wanted wanted, list(arguments, false));
    if (wanted == Wanted::kRun && !overlay_sources_.empty()) return lonely_source();
    return wanted;
  }

 private:
  using Arguments = std::span<const std::string>;

  static Error lonely_source() {
    return wrong(
        "--overlay-src must be followed by another --overlay-src or one of --overlay, "
        "--tmp-overlay, or --ro-overlay");
  }
  static Error too_many() {
    return wrong("Exceeded maximum number of arguments " + std::to_string(kMaxArguments));
  }

  Result<Wanted> list(const std::vector<std::string>& arguments, bool in_file) {
    if (total_ > kMaxArguments) return too_many();
    std::size_t at = 0;
    while (at < arguments.size()) {
      const std::string& name = arguments[at];
      const OptionSpec* const spec = find_option(name);
      if (spec == nullptr) {
        if (name.starts_with('-')) return wrong("Unknown option " + name);
        break;
      }
      if (spec->opt == Opt::kHelp) return Wanted::kHelp;
      if (spec->opt == Opt::kVersion) return Wanted::kVersion;
      ++at;
      if (spec->opt == Opt::kEnd) break;
      if (spec->opt == Opt::kArgs && in_file) {
        return wrong("--args not supported in arguments file");
      }
      auto count = static_cast<std::size_t>(spec->arguments);
      if (arguments.size() - at < count) {
        const bool names_itself = spec->lacking.starts_with("--");
        return wrong((names_itself ? "" : name + " ") + std::string(spec->lacking));
      }
      if (spec->opt == Opt::kOverlaySrc) {  // bubblewrap does not count its argument
        if (at == arguments.size()) return lonely_source();
        count = 1;
      }
      const Arguments values = Arguments(arguments).subspan(at, count);
      at += count;
      if (spec->opt == Opt::kArgs) {
        SBX_TRY(const Wanted wanted, file(values[0]));
        if (wanted != Wanted::kRun) return wanted;
      } else {
        SBX_CHECK_OK(one(*spec, values));
      }
      SBX_CHECK_OK(check_modifiers(*spec));
    }
    if (!in_file) {
      options_.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
    }
    return Wanted::kRun;
  }

  Result<Wanted> file(const std::string& value) {
    SBX_TRY(const int fd, number("fd", value));
    auto data = read_data_(fd);
    if (!data.ok()) return wrong("Can't read --args data: " + data.error().message);
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < data.value().size();) {
      const std::size_t end = std::min(data.value().find('\0', at), data.value().size());
      arguments.emplace_back(data.value(), at, end - at);
      at = end + 1;
      if (++total_ > kMaxArguments) return too_many();
    }
    return list(arguments, true);
  }

  // --perms, --size and --overlay-src speak of the option that follows them.
  Status check_modifiers(const OptionSpec& spec) const {
    const bool modifies = spec.opt == Opt::kPerms || spec.opt == Opt::kSize;
    if (!modifies && perms_ >= 0) {
      return wrong("--perms must be followed by an option that creates a file");
    }
    if (!modifies && size_ != 0) return wrong("--size must be followed by --tmpfs");
    if (spec.opt != Opt::kOverlaySrc && !overlay_sources_.empty()) return lonely_source();
    return {};
  }

  void warn_if(bool repeated, std::string_view name) {
    if (!repeated) return;
    options_.warnings.push_back("Only the last " + std::string(name) + " option will take effect");
  }

  Action& add(ActionKind kind, const std::string& dest) {
    Action& action = options_.actions.emplace_back();
    action.kind = kind;
    action.dest = dest;
    return action;
  }

  int take_perms(int fallback) {
    const int taken = std::exchange(perms_, -1);
    return taken >= 0 ? taken : fallback;
  }

  Status one(const OptionSpec& spec, Arguments values) {
    const std::string_view name = spec.name;
    switch (spec.opt) {
      case Opt::kFlag:
        for (const FlagField& flag : kFlags) {
          if (flag.name == name) options_.*flag.field = true;
        }
        return {};
      case Opt::kFd:
        return descriptor(name, values[0]);
      case Opt::kUnshareAll:
        options_.unshare_user_try = options_.unshare_ipc = options_.unshare_pid = true;
        options_.unshare_uts = options_.unshare_cgroup_try = options_.unshare_net = true;
        return {};
      case Opt::kShareNet:
        options_.unshare_net = false;
        return {};
      case Opt::kArgv0:
        if (options_.argv0) return wrong("--argv0 used multiple times");
        options_.argv0 = values[0];
        return {};
      case Opt::kChdir:
        warn_if(options_.chdir.has_value(), name);
        options_.chdir = values[0];
        return {};
      case Opt::kUid:
        return id(name, "uid", values[0], options_.uid);
      case Opt::kGid:
        return id(name, "gid", values[0], options_.gid);
      case Opt::kHostname:
        warn_if(options_.has_hostname, name);
        options_.has_hostname = true;
        add(ActionKind::kHostname, values[0]);
        return {};
      case Opt::kLockFile:
        options_.lock_files.push_back(values[0]);
        return {};
      case Opt::kLabel:
        return wrong("labeling not supported on this system");
      case Opt::kSeccomp:
      case Opt::kAddSeccomp:
        return seccomp(spec.opt, values[0]);
      case Opt::kClearenv:
        options_.environment.clear();
        return {};
      case Opt::kSetenv:
      case Opt::kUnsetenv:
        return environment(values);
      case Opt::kCapAdd:
      case Opt::kCapDrop:
        return capability(spec.opt == Opt::kCapAdd, values[0]);
      case Opt::kPerms:
        if (perms_ >= 0) return wrong("--perms given twice for the same action");
        return octal(name, values[0], perms_);
      case Opt::kSize:
        return size(values[0]);
      default:
        return action(spec, values);
    }
  }

  Status descriptor(std::string_view name, const std::string& value) {
    for (const FdField& field : kFds) {
      if (field.name != name) continue;
      warn_if(options_.*field.field != -1, name);
      SBX_TRY(options_.*field.field, number("fd", value));
    }
    return {};
  }

  Status id(std::string_view name, const char* what, const std::string& value, std::int64_t& out) {
    warn_if(out != -1, name);
    SBX_TRY(out, number(what, value));
    return {};
  }

  Status seccomp(Opt opt, const std::string& value) {
    if (opt == Opt::kAddSeccomp) {
      if (options_.seccomp_fd != -1) {
        return wrong("--add-seccomp-fd cannot be combined with --seccomp");
      }
      SBX_TRY(const int fd, number("fd", value));
      options_.add_seccomp_fds.push_back(fd);
      return {};
    }
    if (!options_.add_seccomp_fds.empty()) {
      return wrong("--seccomp cannot be combined with --add-seccomp-fd");
    }
    warn_if(options_.seccomp_fd != -1, "--seccomp");
    SBX_TRY(options_.seccomp_fd, number("fd", value));
    return {};
  }

  // One value unsets, two set.
  Status environment(Arguments values) {
    const std::string& name = values[0];
    const bool sets = values.size() == 2;
    if (name.empty() || name.find('=') != std::string::npos) {
      return wrong(std::string(sets ? "setenv" : "unsetenv") + " failed");
    }
    const std::string start = name + "=";
    auto& all = options_.environment;
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const std::string& entry) { return entry.starts_with(start); });
    if (!sets) {
      if (found != all.end()) all.erase(found);
    } else if (found != all.end()) {
      *found = start + values[1];
    } else {
      all.push_back(start + values[1]);
    }
    return {};
  }

  Status capability(bool adds, const std::string& value) {
    options_.sets_capabilities = true;
    std::uint64_t mask = ~std::uint64_t{0};
    std::string upper = value;
    for (char& c : upper) c = static_cast<char>(is_lower(c) ? c - 'a' + 'A' : c);
    if (upper != "ALL") {
      const int number_of = capability_number(value);
      if (number_of < 0) return wrong("unknown cap: " + value);
      mask = std::uint64_t{1} << number_of;
    }
    options_.capabilities = adds ? options_.capabilities | mask : options_.capabilities & ~mask;
    return {};
  }

  static Status octal(std::string_view name, const std::string& value, int& out) {
    char* end = nullptr;
    const unsigned long perms = std::strtoul(value.c_str(), &end, 8);
    if (value.empty() || *end != '\0' || perms > kMaxPerms) {
      return wrong(std::string(name) + " takes an octal argument <= 07777");
    }
    out = static_cast<int>(perms);
    return {};
  }

  Status size(const std::string& value) {
    if (size_ != 0) return wrong("--size given twice for the same action");
    char* end = nullptr;
    errno = 0;
    const unsigned long long bytes = std::strtoull(value.c_str(), &end, 0);
    const bool starts_well = !value.empty() && is_digit(value[0]);
    if (errno != 0 || !starts_well || *end != '\0' || bytes == 0) {
      return wrong("--size takes a non-zero number of bytes");
    }
    if (bytes > kMaxTmpfsBytes) {
      return wrong("--size (for tmpfs) is limited to " + std::to_string(kMaxTmpfsBytes));
    }
    size_ = bytes;
    return {};
  }

  Status action(const OptionSpec& spec, Arguments values) {
    const std::string_view name = spec.name;
    switch (spec.opt) {
      case Opt::kRemountRo:
        add(ActionKind::kRemountRo, values[0]);
        return {};
      case Opt::kBind: {
        const ActionKind kind = name.starts_with("--ro-")    ? ActionKind::kRoBind
                                : name.starts_with("--dev-") ? ActionKind::kDevBind
                                                             : ActionKind::kBind;
        Action& bind = add(kind, values[1]);
        bind.source = values[0];
        bind.optional = name.ends_with("-try");
        return {};
      }
      case Opt::kBindFd: {
        SBX_TRY(const int fd, number("fd", values[0]));
        Action& bind =
            add(name == "--ro-bind-fd" ? ActionKind::kRoBind : ActionKind::kBind, values[1]);
        bind.source = by_number(fd);
        bind.fd = fd;
        return {};
      }
      case Opt::kOverlaySrc:
        overlay_sources_.push_back(values[0]);
        return {};
      case Opt::kOverlay:
      case Opt::kPlainOverlay:
        return overlay(name, values);
      case Opt::kPlace:
        add(name == "--proc"  ? ActionKind::kProc
            : name == "--dev" ? ActionKind::kDev
                              : ActionKind::kMqueue,
            values[0]);
        return {};
      case Opt::kTmpfs: {
        Action& tmpfs = add(ActionKind::kTmpfs, values[0]);
        tmpfs.perms = take_perms(0755);
        tmpfs.size = std::exchange(size_, 0);
        return {};
      }
      case Opt::kDir:
        add(ActionKind::kDir, values[0]).perms = take_perms(0755);
        return {};
      case Opt::kData: {
        SBX_TRY(const int fd, number("fd", values[0]));
        const ActionKind kind = name == "--file"        ? ActionKind::kFile
                                : name == "--bind-data" ? ActionKind::kBindData
                                                        : ActionKind::kRoBindData;
        Action& data = add(kind, values[1]);
        data.fd = fd;
        data.perms = take_perms(kind == ActionKind::kFile ? 0666 : 0600);
        return {};
      }
      case Opt::kSymlink:
        add(ActionKind::kSymlink, values[1]).source = values[0];
        return {};
      case Opt::kChmod: {
        int perms = 0;
        SBX_CHECK_OK(octal(name, values[0], perms));
        add(ActionKind::kChmod, values[1]).perms = perms;
        return {};
      }
      default:
        return Error{ErrorCode::kInternal, "an option without a meaning", "", ""};
    }
  }

  Status overlay(std::string_view name, Arguments values) {
    const bool is_read_only = name == "--ro-overlay";
    if (overlay_sources_.size() < (is_read_only ? 2 : 1)) {
      return wrong(std::string(name) + " requires at least " + (is_read_only ? "two" : "one") +
                   " --overlay-src");
    }
    Action& mount = add(name == "--overlay" ? ActionKind::kOverlay
                        : is_read_only      ? ActionKind::kRoOverlay
                                            : ActionKind::kTmpOverlay,
                        values.back());
    if (name == "--overlay") {
      mount.source = values[0];
      mount.work = values[1];
    }
    mount.lowers.assign(overlay_sources_.rbegin(), overlay_sources_.rend());
    overlay_sources_.clear();
    return {};
  }

  const ReadData& read_data_;
  Options& options_;
  std::size_t total_ = 0;
  int perms_ = -1;
  std::uint64_t size_ = 0;
  std::vector<std::string> overlay_sources_;
};

}  // namespace

bool Options::needs_devpts() const {
  return std::any_of(actions.begin(), actions.end(),
                     [](const Action& action) { return action.kind == ActionKind::kDev; });
}

bool Options::has_init() const {
  return !as_pid_1 && (unshare_pid || !lock_files.empty() || sync_fd != -1);
}

Result<Wanted> parse_options(const std::vector<std::string>& arguments, const ReadData& read_data,
                             Options& options) {
  return Parser(read_data, options).run(arguments);
}

Status check_options(Options& options, const Caller& caller) {
  const bool has_block_fd = options.userns_block_fd != -1;
  const bool joins = options.userns_fd != -1;
  if (has_block_fd && !options.unshare_user) {
    return wrong("--userns-block-fd requires --unshare-user");
  }
  if (has_block_fd && options.info_fd == -1) return wrong("--userns-block-fd requires --info-fd");
  if (joins && options.unshare_user) return wrong("--userns not compatible --unshare-user");
  if (joins && options.unshare_user_try) return wrong("--userns not compatible --unshare-user-try");
  if (options.disable_userns && !options.unshare_user) {
    return wrong("--disable-userns requires --unshare-user");
  }
  if (options.disable_userns && has_block_fd) {
    return wrong("--disable-userns is not compatible with  --userns-block-fd");
  }
  // Without privileges nothing works but in a user namespace.
  if (caller.uid != 0 && !joins) options.unshare_user = true;
  if (options.unshare_user_try && caller.user_namespaces) options.unshare_user = true;
  if (options.uid == -1) options.uid = caller.uid;
  if (options.gid == -1) options.gid = caller.gid;
  const bool has_user = options.unshare_user || joins;
  if (!has_user && options.uid != caller.uid) {
    return wrong("Specifying --uid requires --unshare-user or --userns");
  }
  if (!has_user && options.gid != caller.gid) {
    return wrong("Specifying --gid requires --unshare-user or --userns");
  }
  if (!options.unshare_uts && options.has_hostname) {
    return wrong("Specifying --hostname requires --unshare-uts");
  }
  if (options.as_pid_1 && !options.unshare_pid) {
    return wrong("Specifying --as-pid-1 requires --unshare-pid");
  }
  if (options.as_pid_1 && !options.lock_files.empty()) {
    return wrong("Specifying --as-pid-1 and --lock-file is not permitted");
  }
  if (options.unshare_cgroup && !caller.cgroup_namespaces) {
    return wrong("Cannot create new cgroup namespace because the kernel does not support it");
  }
  if (options.unshare_cgroup_try && caller.cgroup_namespaces) options.unshare_cgroup = true;
  return {};
}

}  // namespace sbx::bwrap
