// SPDX-License-Identifier: Apache-2.0
// Text is held against the profile's table once it is in the document: here only its shape counts.
#include "learn/grants.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "gateway/address.h"
#include "host_files/places.h"
#include "json/reader.h"
#include "model/address.h"
#include "model/grant.h"
#include "plan/filter.h"
#include "policy/policy.h"
#include "profile/host_rule.h"

namespace sbx::learn {
namespace {

// Settings that a refusal may name: lists that it adds to, and values that it sets. What else a
// profile has is for a person to decide.
constexpr auto kLists = std::to_array<std::string_view>(
    {"filesystem.roots", "filesystem.devices", "network.allow", "network.host_ports",
     "network.unix_sockets", "network.http", "seccomp.allow", "commands.allow"});
constexpr auto kValues =
    std::to_array<std::string_view>({"network.mode", "filesystem.git_config", "limits.tmp_mb",
                                     "limits.file_kb", "limits.open_files"});

// Of the whole machine: no sandbox is left with one of them.
constexpr auto kOfTheMachine = std::to_array<std::string_view>(
    {"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
     "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "adjtimex", "clock_adjtime", "iopl",
     "ioperm", "open_by_handle_at", "settimeofday", "clock_settime"});

constexpr auto kOfTheSystem =
    std::to_array<std::string_view>({"/usr", "/bin", "/sbin", "/etc", "/lib", "/lib32", "/lib64",
                                     "/libx32", "/opt", "/var/lib", "/var/spool"});

// What shells, desktops, editors and git go by, or run, below a home.
constexpr auto kStartFiles = std::to_array<std::string_view>({".bashrc",
                                                              ".bash_profile",
                                                              ".bash_login",
                                                              ".bash_logout",
                                                              ".bash_aliases",
                                                              ".bash_completion",
                                                              ".profile",
                                                              ".zshrc",
                                                              ".zshenv",
                                                              ".zprofile",
                                                              ".zlogin",
                                                              ".zlogout",
                                                              ".cshrc",
                                                              ".tcshrc",
                                                              ".login",
                                                              ".logout",
                                                              ".kshrc",
                                                              ".mkshrc",
                                                              ".inputrc",
                                                              ".config/fish",
                                                              ".config/nushell",
                                                              ".xprofile",
                                                              ".xsession",
                                                              ".xsessionrc",
                                                              ".xinitrc",
                                                              ".gnomerc",
                                                              ".pam_environment",
                                                              ".config/autostart",
                                                              ".config/plasma-workspace",
                                                              ".config/systemd",
                                                              ".config/environment.d",
                                                              ".config/sbx",
                                                              ".local/share/systemd",
                                                              ".local/share/applications",
                                                              ".local/share/dbus-1",
                                                              ".local/bin",
                                                              ".vimrc",
                                                              ".vim",
                                                              ".config/nvim",
                                                              ".emacs",
                                                              ".emacs.d",
                                                              ".config/emacs",
                                                              ".tmux.conf",
                                                              ".config/tmux",
                                                              ".screenrc",
                                                              ".gitconfig",
                                                              ".config/git"});

std::string text_of(const Document& entry, const char* key) {
  if (!entry.is_object()) return "";
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
}

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

std::string why_not_written(const std::string& path, const Guarded& guarded) {
  for (const std::string_view top : kOfTheSystem) {
    if (is_below(path, top)) return path + " belongs to the system, and is not for commands";
  }
  for (const std::string& home : guarded.homes) {
    for (const std::string_view name : kStartFiles) {
      const std::string file = home + "/" + std::string(name);
      if (is_below(path, file) || is_below(file, path)) return path + " steers what runs outside";
    }
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

std::string why_no_listener(const std::string& path) {
  for (const std::string_view name :
       {"docker.sock", "dockerd.sock", "podman.sock", "containerd.sock", "containerd.sock.ttrpc",
        "crio.sock", "system_bus_socket", "/bus", "/systemd/private", "libvirt-sock",
        "snapd.socket"}) {
    if (path.ends_with(name)) return path + " commands what runs outside of every sandbox";
  }
  for (const std::string_view part :
       {"/containerd/", "/buildkit", "/incus/", "/lxd/", "/io.systemd.", "/crio/"}) {
    if (path.find(part) != path.npos) {
      return path + " commands what runs outside of every sandbox";
    }
  }
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const bool is_agent = name.starts_with("agent.") || name.find("-agent") != name.npos ||
                        name.find("_agent") != name.npos || path.find("/keyring/") != path.npos ||
                        path.find("/gcr/") != path.npos;
  return is_agent ? path + " uses keys (the presets ssh-agent and gpg-agent are for that)" : "";
}

// What is listed is shown as well, whatever it is.
std::string why_no_socket(const std::string& named, const Guarded& guarded) {
  std::string why = why_no_root(named, false, guarded);
  if (!why.empty()) return why;
  const std::string path = plain(named, guarded.homes);
  if (path.empty()) return why_no_listener(named);
  why = why_no_listener(path);
  return why.empty() ? why_no_listener(real_start(path)) : why;
}

// Disks, memory, processors and what people type, by the names that Linux gives them.
std::string why_no_device(const std::string& named) {
  const std::string path = one_path(named);
  if (path.empty()) return named + " is no path of one thing";
  for (const std::string_view start : {"/dev/sd",       "/dev/hd",
                                       "/dev/vd",       "/dev/xvd",
                                       "/dev/nvme",     "/dev/mmcblk",
                                       "/dev/md",       "/dev/dm-",
                                       "/dev/mapper",   "/dev/loop",
                                       "/dev/disk",     "/dev/block",
                                       "/dev/char",     "/dev/sg",
                                       "/dev/bsg",      "/dev/st",
                                       "/dev/nst",      "/dev/sr",
                                       "/dev/ram",      "/dev/pmem",
                                       "/dev/fd0",      "/dev/fd1",
                                       "/dev/zram",     "/dev/nbd",
                                       "/dev/mtd",      "/dev/mem",
                                       "/dev/kmem",     "/dev/port",
                                       "/dev/kmsg",     "/dev/cpu",
                                       "/dev/input",    "/dev/uinput",
                                       "/dev/uhid",     "/dev/hidraw",
                                       "/dev/vfio",     "/dev/vhost",
                                       "/dev/snapshot", "/dev/btrfs-control",
                                       "/dev/console",  "/dev/vcs",
                                       "/dev/tpm",      "/dev/watchdog",
                                       "/dev/rfkill"}) {
    if (path.starts_with(start)) return path + " is the machine's own";
  }
  return path.find("..") != path.npos ? path + " is no device" : "";
}

std::string why_no_call(const std::string& name) {
  if (std::find(kOfTheMachine.begin(), kOfTheMachine.end(), name) != kOfTheMachine.end()) {
    return name + " is for the whole machine";
  }
  FilterSpec spec;
  spec.allow = {name};
  const Result<CompiledFilter> filter = compile_filter(spec);
  return filter.ok() ? "" : filter.error().message;
}

}  // namespace

Result<Grant> parse_grant(std::string_view text) {
  const auto refuse = [&] {
    return Error{ErrorCode::kBadValue, "no setting that can be added: " + std::string(text),
                 "grant", ""};
  };
  // The mode follows the list: what applies it sets that too.
  if (text.starts_with(kWithItsMode)) text.remove_prefix(kWithItsMode.size());
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view setting = text.substr(0, end);
  Grant grant;
  grant.appends = std::find(kLists.begin(), kLists.end(), setting) != kLists.end();
  const std::string_view sign = grant.appends ? " += " : " = ";
  const bool is_known =
      grant.appends || std::find(kValues.begin(), kValues.end(), setting) != kValues.end();
  if (!is_known || !text.substr(end).starts_with(sign)) return refuse();
  const std::string_view rest = text.substr(end + sign.size());
  if (!read_json_strict(rest).ok()) return refuse();
  grant.value = parse_ordered_json(rest);
  if (grant.appends && !grant.value.is_array()) grant.value = Document::array({grant.value});
  const std::size_t dot = setting.find('.');
  grant.section = setting.substr(0, dot);
  grant.key = setting.substr(dot + 1);
  return grant;
}

std::string never_granted(const Grant& grant, const Guarded& guarded) {
  if (grant.key == "mode") {
    return grant.value == "open" ? "the host's network has no sandbox around it" : "";
  }
  for (const Document& entry : grant.value) {
    const std::string text = entry.is_string() ? entry.get<std::string>() : "";
    std::string why;
    if (grant.key == "roots") {
      why = why_no_root(text_of(entry, "path"), text_of(entry, "access") == "rw", guarded);
    }
    if (grant.key == "unix_sockets") why = why_no_socket(text, guarded);
    if (grant.key == "devices") why = why_no_device(text);
    if (grant.section == "network" && grant.key == "allow") why = why_no_host(text);
    if (grant.key == "http") why = why_no_host(text_of(entry, "host"));
    if (grant.section == "seccomp") why = why_no_call(text);
    if (!why.empty()) return why;
  }
  return "";
}

bool is_without_list(const Grant& grant, const Profile& profile) {
  return grant.section == "commands" && !profile.commands.allow;
}

bool add_grant(const Grant& grant, Document& profile) {
  Document& section = profile[grant.section];
  if (!section.is_object()) section = Document::object();
  if (!grant.appends) {
    if (section.value(grant.key, Document()) == grant.value) return false;
    section[grant.key] = grant.value;
    return true;
  }
  const std::string more = "+" + grant.key;
  Document& list = section.contains(grant.key) ? section[grant.key] : section[more];
  if (!list.is_array()) list = Document::array();
  bool is_changed = false;
  for (const Document& entry : grant.value) {
    const std::string path = text_of(entry, "path");
    const auto same = [&](const Document& known) {
      return known == entry || (!path.empty() && text_of(known, "path") == path);
    };
    const auto known = std::find_if(list.begin(), list.end(), same);
    if (known == list.end()) {
      list.push_back(entry);
    } else if (path.empty() || *known == entry || text_of(*known, "access") == "rw") {
      continue;
    } else {
      (*known)["access"] = entry.value("access", Document("ro"));
    }
    is_changed = true;
  }
  return is_changed;
}

std::string difference(const std::string& before, const std::string& after) {
  const auto old_lines = split(before, '\n');
  const auto new_lines = split(after, '\n');
  const std::size_t most = std::min(old_lines.size(), new_lines.size());
  std::size_t head = 0;
  while (head < most && old_lines[head] == new_lines[head]) ++head;
  std::size_t tail = 0;
  while (tail < most - head &&
         old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail]) {
    ++tail;
  }
  if (head == old_lines.size() && head == new_lines.size()) return "";
  std::string out;
  const auto add = [&](char mark, std::string_view line) {
    (out += mark) += escape_control_bytes(std::string(line));
    out += '\n';
  };
  static constexpr std::size_t kContext = 3;
  for (std::size_t i = head - std::min(head, kContext); i < head; ++i) add(' ', old_lines[i]);
  for (std::size_t i = head; i < old_lines.size() - tail; ++i) add('-', old_lines[i]);
  for (std::size_t i = head; i < new_lines.size() - tail; ++i) add('+', new_lines[i]);
  const std::size_t end = old_lines.size() - tail;
  for (std::size_t i = end; i < std::min(end + kContext, old_lines.size()); ++i) {
    if (!old_lines[i].empty()) add(' ', old_lines[i]);
  }
  return out;
}

}  // namespace sbx::learn
