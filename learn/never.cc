// SPDX-License-Identifier: Apache-2.0
// The tables hold what docs/policy.md says in words.
#include "learn/never.h"

#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/files.h"
#include "base/system_places.h"
#include "base/text.h"
#include "gateway/address.h"
#include "json/text_at.h"
#include "model/address.h"
#include "plan/filter.h"
#include "policy/policy.h"
#include "profile/host_rule.h"

namespace sbx::learn {
namespace {

struct Never {
  std::string_view what;
  std::string_view why;
};

// Of the whole machine: no sandbox is left with one of them.
constexpr auto kOfTheMachine = std::to_array<std::string_view>(
    {"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
     "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "adjtimex", "clock_adjtime", "iopl",
     "ioperm", "open_by_handle_at", "settimeofday", "clock_settime"});

// For writing, and all below them and the system's places, but for /var/tmp, what lies in
// /run/user, and homes in /var.
constexpr std::string_view kOfTheSystem[] = {"/etc",  "/opt", "/var", "/run",
                                             "/snap", "/nix", "/gnu"};

constexpr std::string_view kShell = "shells go by it";
constexpr std::string_view kLogin = "a login or a desktop starts what it says";
constexpr std::string_view kEditor = "an editor runs it";
constexpr std::string_view kTerminal = "tmux or screen runs it";
constexpr std::string_view kGit = "git runs what it says";
constexpr std::string_view kOwn = "sbx goes by it";
constexpr std::string_view kPrograms = "programs lie there that are run outside";

// For writing, below a home, and what holds them.
constexpr auto kOfTheHome = std::to_array<Never>({
    {".bashrc", kShell},
    {".bash_profile", kShell},
    {".bash_login", kShell},
    {".bash_logout", kShell},
    {".bash_aliases", kShell},
    {".bash_completion", kShell},
    {".profile", kShell},
    {".zshrc", kShell},
    {".zshenv", kShell},
    {".zprofile", kShell},
    {".zlogin", kShell},
    {".zlogout", kShell},
    {".cshrc", kShell},
    {".tcshrc", kShell},
    {".login", kShell},
    {".logout", kShell},
    {".kshrc", kShell},
    {".mkshrc", kShell},
    {".inputrc", kShell},
    {".config/fish", kShell},
    {".config/nushell", kShell},
    {".xprofile", kLogin},
    {".xsession", kLogin},
    {".xsessionrc", kLogin},
    {".xinitrc", kLogin},
    {".gnomerc", kLogin},
    {".pam_environment", kLogin},
    {".config/autostart", kLogin},
    {".config/plasma-workspace", kLogin},
    {".config/systemd", kLogin},
    {".config/environment.d", kLogin},
    {".config/sbx", kOwn},
    {".local/share/systemd", kLogin},
    {".local/share/applications", kLogin},
    {".local/share/dbus-1", kLogin},
    {".local/bin", kPrograms},
    {".vimrc", kEditor},
    {".vim", kEditor},
    {".config/nvim", kEditor},
    {".emacs", kEditor},
    {".emacs.d", kEditor},
    {".config/emacs", kEditor},
    {".tmux.conf", kTerminal},
    {".config/tmux", kTerminal},
    {".screenrc", kTerminal},
    {".gitconfig", kGit},
    {".config/git", kGit},
    {"bin", kPrograms},
    {".pyenv", kPrograms},
    {".rbenv", kPrograms},
    {".nodenv", kPrograms},
    {".goenv", kPrograms},
    {".jenv", kPrograms},
    {".plenv", kPrograms},
    {".phpenv", kPrograms},
    {".tfenv", kPrograms},
    {".asdf", kPrograms},
    {".rvm", kPrograms},
    {".nvm", kPrograms},
    {".volta", kPrograms},
    {".sdkman", kPrograms},
    {".local/share/mise", kPrograms},
    {".local/share/fnm", kPrograms},
    {".local/share/uv/tools", kPrograms},
    {".cargo/bin", kPrograms},
    {".rustup", kPrograms},
    {"go/bin", kPrograms},
    {".deno/bin", kPrograms},
    {".bun/bin", kPrograms},
    {".npm-global", kPrograms},
    {".dotnet/tools", kPrograms},
    {".krew/bin", kPrograms},
    {".nix-profile", kPrograms},
});

constexpr std::string_view kDisk = "is a disk, or leads to one";
constexpr std::string_view kMemory = "is the machine's memory or its processors";
constexpr std::string_view kTyped = "is a terminal, or what people type";
constexpr std::string_view kHardware = "steers the machine's hardware";

// By the names that Linux gives them: patterns of fnmatch(3).
constexpr auto kDevices = std::to_array<Never>({
    {"/dev/sd*", kDisk},           {"/dev/hd*", kDisk},         {"/dev/vd*", kDisk},
    {"/dev/xvd*", kDisk},          {"/dev/nvme*", kDisk},       {"/dev/mmcblk*", kDisk},
    {"/dev/md*", kDisk},           {"/dev/dm-*", kDisk},        {"/dev/mapper*", kDisk},
    {"/dev/loop*", kDisk},         {"/dev/disk*", kDisk},       {"/dev/block*", kDisk},
    {"/dev/sg*", kDisk},           {"/dev/bsg*", kDisk},        {"/dev/st*", kDisk},
    {"/dev/nst*", kDisk},          {"/dev/sr*", kDisk},         {"/dev/ram*", kDisk},
    {"/dev/pmem*", kDisk},         {"/dev/fd[01]*", kDisk},     {"/dev/zram*", kDisk},
    {"/dev/nbd*", kDisk},          {"/dev/mtd*", kDisk},        {"/dev/btrfs-control*", kDisk},
    {"/dev/mem*", kMemory},        {"/dev/kmem*", kMemory},     {"/dev/port*", kMemory},
    {"/dev/kmsg*", kMemory},       {"/dev/cpu*", kMemory},      {"/dev/snapshot*", kMemory},
    {"/dev/input*", kTyped},       {"/dev/uinput*", kTyped},    {"/dev/uhid*", kTyped},
    {"/dev/hidraw*", kTyped},      {"/dev/console*", kTyped},   {"/dev/vcs*", kTyped},
    {"/dev/tty[0-9S]*", kTyped},   {"/dev/pts*", kTyped},       {"/dev/char*", kHardware},
    {"/dev/vfio*", kHardware},     {"/dev/vhost*", kHardware},  {"/dev/tpm*", kHardware},
    {"/dev/watchdog*", kHardware}, {"/dev/rfkill*", kHardware},
});

struct Node {
  unsigned major;  // of a character device: Documentation/admin-guide/devices.txt
  unsigned first;  // minor
  unsigned last;
  std::string_view why;
};
constexpr unsigned kAll = ~0U;
constexpr unsigned kFirstPts = 136;
constexpr unsigned kLastPts = 143;
constexpr auto kNodes = std::to_array<Node>({
    // But null, zero, full, random and urandom.
    {1, 0, 2, kMemory},
    {1, 4, 4, kMemory},
    {1, 6, 6, kMemory},
    {1, 10, kAll, kMemory},
    // But /dev/tty and /dev/ptmx, which are the command's own.
    {4, 0, kAll, kTyped},
    {5, 1, 1, kTyped},
    {5, 3, kAll, kTyped},
    {7, 0, kAll, kTyped},
    {9, 0, kAll, kDisk},
    {10, 130, 130, kHardware},
    {10, 144, 144, kMemory},
    {10, 223, 223, kTyped},
    {10, 224, 224, kHardware},
    {10, 231, 231, kMemory},
    {10, 234, 234, kDisk},
    {10, 237, 237, kDisk},
    {10, 239, 239, kTyped},
    {10, 242, 242, kHardware},
    {13, 0, kAll, kTyped},
    {21, 0, kAll, kDisk},
    {90, 0, kAll, kDisk},
    {kFirstPts, 0, kAll, kTyped},
    {162, 0, kAll, kDisk},
    {202, 0, kAll, kMemory},
    {203, 0, kAll, kMemory},
});

constexpr std::string_view kCommands = "commands what runs outside of every sandbox";
constexpr std::string_view kTypes = "types into what runs outside of every sandbox";
constexpr std::string_view kAgent = "uses keys (the presets ssh-agent and gpg-agent are for that)";

// Sockets: patterns of fnmatch(3), for the whole path where they hold a slash, else for its name.
constexpr auto kListeners = std::to_array<Never>({
    {"*docker.sock", kCommands},
    {"*dockerd.sock", kCommands},
    {"*podman.sock", kCommands},
    {"*containerd.sock", kCommands},
    {"*containerd.sock.ttrpc", kCommands},
    {"*crio.sock", kCommands},
    {"*/containerd/*", kCommands},
    {"*/buildkit*", kCommands},
    {"*/incus/*", kCommands},
    {"*/lxd/*", kCommands},
    {"*/crio/*", kCommands},
    {"*libvirt-sock*", kCommands},
    {"virt*-sock*", kCommands},
    {"*/libvirt/*", kCommands},
    {"*snapd*.socket", kCommands},
    {"*system_bus_socket", kCommands},
    {"bus", kCommands},
    {"bus[!a-zA-Z]*", kCommands},
    {"/run/user/*/bus*", kCommands},
    {"dbus-*", kCommands},
    {"*/dbus-*", kCommands},
    {"*/at-spi*", kCommands},
    {"*/systemd/private", kCommands},
    {"*/io.systemd.*", kCommands},
    {"*/tmux-*", kTypes},
    {"*/tmate-*", kTypes},
    {"*/screen/S-*", kTypes},
    {"*/screens/S-*", kTypes},
    {"*/.screen/*", kTypes},
    {"*/zellij*", kTypes},
    {"*/emacs*/server*", kTypes},
    {"agent.*", kAgent},
    {"*-agent*", kAgent},
    {"*_agent*", kAgent},
    {"*/keyring/*", kAgent},
    {"*/gcr/*", kAgent},
});

// The one path that an entry names, as sbx writes it (literal_path()); empty: it is a pattern.
std::string one_path(const std::string& path) {
  const std::size_t star = path.find('*');
  if (star == path.npos) return path;
  std::size_t at = path.rfind('/', star) + 1;
  std::string out = path.substr(0, at);
  for (; at < path.size(); ++at) {
    if (path[at] == '\\' && at + 1 < path.size()) {
      ++at;
    } else if (std::string_view("*?[").find(path[at]) != std::string_view::npos) {
      return "";
    }
    out += path[at];
  }
  return out;
}

// As the kernel reads it, without symlinks being followed; empty where it is none.
std::string plain(const std::string& path, const std::vector<std::string>& homes) {
  std::string whole = path;
  if (path.starts_with("${home}")) {
    whole = homes.empty() ? "" : homes.front() + path.substr(std::string_view("${home}").size());
  }
  const Result<std::string> normal = normal_path(whole, "/", "");
  return normal.ok() && whole.starts_with('/') ? normal.value() : "";
}

// What makes other programs do things, or is a place of secrets, wherever it lies.
std::string why_no_name(const std::string& path, bool to_write) {
  for (const std::string_view part : split(path, '/')) {
    if (part == ".env" || part.starts_with(".env.")) return path + " is a place of secrets";
    if (to_write && (part == ".sbx" || part == ".git")) return path + " steers what runs outside";
  }
  return "";
}

// In words; empty: none of the table's.
template <std::size_t N>
std::string why_listed(const std::string& path, const std::array<Never, N>& table) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const Never& row : table) {
    const bool is_of_path = row.what.find('/') != row.what.npos;
    const std::string pattern(row.what);
    if (fnmatch(pattern.c_str(), (is_of_path ? path : name).c_str(), 0) != 0) continue;
    return path + " " + std::string(row.why);
  }
  return "";
}

std::string why_not_written(const std::string& path, const Guarded& guarded) {
  const auto meets = [&](const std::string& place) {
    return is_below(path, place) || is_below(place, path);
  };
  constexpr std::string_view kRuntime = "/run/user/";
  if (path.starts_with(kRuntime) &&
      meets(path.substr(0, path.find('/', kRuntime.size())) + "/systemd")) {
    return path + " steers what runs outside: " + std::string(kLogin);
  }
  const bool is_users = is_below(path, "/var/tmp") || path.starts_with(kRuntime) ||
                        (is_below(path, "/var") &&
                         std::any_of(guarded.homes.begin(), guarded.homes.end(),
                                     [&](const auto& home) { return is_below(path, home); }));
  if (!is_users && (is_system_place(path) || is_below_any(path, kOfTheSystem))) {
    return path + " belongs to the system, and is not for commands";
  }
  for (const std::string& home : guarded.homes) {
    for (const Never& row : kOfTheHome) {
      if (meets(home + "/" + std::string(row.what))) {
        return path + " steers what runs outside: " + std::string(row.why);
      }
    }
  }
  for (const std::string& place : guarded.programs) {
    if (meets(place)) return path + " steers what runs outside: PATH names " + place;
  }
  for (const std::string& place : guarded.own) {
    if (is_below(place, path)) return path + " steers later runs";
  }
  return "";
}

std::string why_no_path(const std::string& path, bool to_write, const Guarded& guarded) {
  std::string why = why_no_name(path, to_write);
  if (!why.empty()) return why;
  for (const std::string_view top : {"/proc", "/dev", "/sys", "/boot"}) {
    if (is_below(path, top)) return path + " belongs to the machine";
  }
  const bool is_home =
      path == "/" || std::any_of(guarded.homes.begin(), guarded.homes.end(),
                                 [&](const auto& home) { return is_below(home, path); });
  if (is_home) return path + " holds the whole home, or more";
  for (const SecretPlace& secret : guarded.secrets) {
    if (is_below(path, secret.path) || is_below(secret.path, path)) {
      return path + " holds " + secret.why + " (" + secret.path + ")";
    }
  }
  if (is_one_of(guarded.linked, path)) return path + " is another name for a file of secrets";
  // What other runs keep there is theirs.
  for (const std::string& place : guarded.own) {
    if (is_below(path, place)) return path + " is sbx's own";
  }
  return to_write ? why_not_written(path, guarded) : "";
}

std::string why_no_root(const std::string& named, bool to_write, const Guarded& guarded) {
  const std::string one = one_path(named);
  if (one.empty()) return named + " is no path of one thing";
  if (is_below(one, "${workspace}")) return why_no_name(one, to_write);
  const std::string path = plain(one, guarded.homes);
  if (path.empty()) return named + " is no path from /";
  std::string why = why_no_path(path, to_write, guarded);
  return why.empty() ? why_no_path(real_start(path), to_write, guarded) : why;
}

std::string why_no_host(const std::string& text) {
  const auto rule = parse_host_rule(text);
  if (!rule) return text + " is no host";
  if (rule->kind == HostRule::Kind::kWildcard && rule->name.find('.') == std::string::npos) {
    return text + " is nearly everything";
  }
  if (rule->kind != HostRule::Kind::kNetwork) return "";
  if (is_special(rule->network) && !is_loopback(rule->network)) {
    return text + " is no host of its own, or where clouds hand out credentials";
  }
  for (const char* address : {"169.254.169.254", "100.100.100.200", "fd00:ec2::254"}) {
    if (in_network(*parse_ip(address), rule->network, rule->prefix)) {
      return text + " holds where clouds hand out credentials";
    }
  }
  return rule->prefix < kNarrowestWideNetwork ? text + " is nearly everything" : "";
}

// What is listed is shown as well, whatever it is.
std::string why_no_socket(const std::string& named, const Guarded& guarded) {
  std::string why = why_no_root(named, false, guarded);
  if (!why.empty()) return why;
  const std::string path = plain(named, guarded.homes);
  if (path.empty()) return why_listed(named, kListeners);
  if (is_directory(path)) return path + " is no socket";
  why = why_listed(path, kListeners);
  return why.empty() ? why_listed(real_start(path), kListeners) : why;
}

std::string why_no_device(const std::string& named) {
  const std::string path = one_path(named);
  if (path.empty()) return named + " is no path of one thing";
  if (path.find("..") != path.npos) return path + " is no device";
  std::string why = why_listed(path, kDevices);
  if (why.empty()) why = why_listed(real_start(path), kDevices);
  struct stat info {};
  if (!why.empty() || stat(path.c_str(), &info) != 0) return why;
  why = why_no_node(info.st_mode, info.st_rdev);
  return why.empty() ? "" : path + " " + why;
}

std::string why_no_call(const std::string& name) {
  if (std::find(kOfTheMachine.begin(), kOfTheMachine.end(), name) != kOfTheMachine.end()) {
    return name + " is for the whole machine";
  }
  if (name == "socket" || name == "socketpair") return name + " lets every family of sockets pass";
  FilterSpec spec;
  spec.allow = {name};
  const Result<CompiledFilter> filter = compile_filter(spec);
  return filter.ok() ? "" : filter.error().message;
}

}  // namespace

std::vector<std::string> program_places(const std::string& path) {
  std::vector<std::string> places;
  for (const std::string_view part : split(path, ':')) {
    const Result<std::string> normal = normal_path(std::string(part), "/", "");
    // What "/" or a relative one names is no place of programs.
    if (!part.starts_with('/') || !normal.ok() || normal.value() == "/") continue;
    for (const std::string& place : {normal.value(), real_start(normal.value())}) {
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
  }
  return places;
}

std::string never_granted(const Grant& grant, const Guarded& guarded) {
  if (grant.key == "mode") {
    return grant.value == "open" ? "the host's network has no sandbox around it" : "";
  }
  for (const Document& entry : grant.value) {
    const std::string text = entry.is_string() ? entry.get<std::string>() : "";
    std::string why;
    if (grant.key == "roots") {
      why = why_no_root(text_at(entry, "path"), text_at(entry, "access") == "rw", guarded);
    }
    if (grant.key == "unix_sockets") why = why_no_socket(text, guarded);
    if (grant.key == "devices") why = why_no_device(text);
    if (grant.section == "network" && grant.key == "allow") why = why_no_host(text);
    if (grant.key == "http") why = why_no_host(text_at(entry, "host"));
    if (grant.section == "seccomp") why = why_no_call(text);
    if (!why.empty()) return why;
  }
  return "";
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string why_no_node(mode_t mode, dev_t number) {
  if (S_ISBLK(mode)) return std::string(kDisk);
  if (!S_ISCHR(mode)) return "";
  const unsigned type =
      std::clamp(major(number), kFirstPts, kLastPts) == major(number) ? kFirstPts : major(number);
  for (const Node& node : kNodes) {
    const bool is_it =
        node.major == type && node.first <= minor(number) && minor(number) <= node.last;
    if (is_it) return std::string(node.why);
  }
  return "";
}

}  // namespace sbx::learn
