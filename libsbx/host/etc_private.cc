// SPDX-License-Identifier: Apache-2.0
// The list, one look at each directory that it names, and the walk over modes.
#include "host/etc_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/paths.h"
#include "host/looks.h"

namespace sbx {
namespace {

struct PrivatePlace {
  std::string_view name;  // below /etc; its last component may hold * and ?
  const char* reason;
};

constexpr const char* kAccounts = "accounts of the machine and what proves them";
constexpr const char* kIdentity = "tells this machine from others";
constexpr const char* kDisks = "disks and network shares of the machine";
constexpr const char* kJobs = "what the machine runs by itself, and when";
constexpr const char* kRights = "who may do what on the machine";
constexpr const char* kNetworks = "networks that the machine is in, and what guards them";
constexpr const char* kTunnels = "private networks and what opens them";
constexpr const char* kKeys = "private keys and passwords";
constexpr const char* kServices = "services of the machine and what they are reached with";

constexpr auto kPrivate = std::to_array<PrivatePlace>({
    {"passwd-", kAccounts},
    {"group-", kAccounts},
    {"shadow*", kAccounts},
    {"gshadow*", kAccounts},
    {"subuid*", kAccounts},
    {"subgid*", kAccounts},
    {"master.passwd", kAccounts},
    {"security/opasswd", kAccounts},
    {"sssd", kAccounts},
    {"ldap.secret", kAccounts},
    {"pam_ldap.*", kAccounts},
    {"nslcd.conf", kAccounts},
    {"machine-id", kIdentity},
    {"machine-info", kIdentity},
    {"hostid", kIdentity},
    {"mailname", kIdentity},
    {"adjtime", kIdentity},
    {"fstab", kDisks},
    {"fstab.d", kDisks},
    {"crypttab", kDisks},
    {"mdadm*", kDisks},
    {"multipath*", kDisks},
    {"lvm", kDisks},
    {"zfs", kDisks},
    {"iscsi", kDisks},
    {"exports", kDisks},
    {"exports.d", kDisks},
    {"auto.*", kDisks},
    {"davfs2", kDisks},
    {"samba", kDisks},
    {"crontab", kJobs},
    {"anacrontab", kJobs},
    {"cron.*", kJobs},
    {"at.allow", kJobs},
    {"at.deny", kJobs},
    {"incron.*", kJobs},
    {"sudoers*", kRights},
    {"sudo.conf", kRights},
    {"sudo_logsrvd.conf", kRights},
    {"doas.conf", kRights},
    {"polkit-1", kRights},
    {"hosts.allow", kRights},
    {"hosts.deny", kRights},
    {"audit", kRights},
    {"NetworkManager", kNetworks},
    {"network", kNetworks},
    {"netplan", kNetworks},
    {"systemd/network", kNetworks},
    {"wpa_supplicant", kNetworks},
    {"iwd", kNetworks},
    {"connman", kNetworks},
    {"dhcp", kNetworks},
    {"dhcpcd.conf", kNetworks},
    {"resolvconf", kNetworks},
    {"hosts.equiv", kNetworks},
    {"iptables", kNetworks},
    {"nftables*", kNetworks},
    {"ufw", kNetworks},
    {"firewalld", kNetworks},
    {"fail2ban", kNetworks},
    {"wireguard", kTunnels},
    {"openvpn", kTunnels},
    {"ppp", kTunnels},
    {"chatscripts", kTunnels},
    {"vpnc", kTunnels},
    {"openconnect", kTunnels},
    {"ipsec*", kTunnels},
    {"strongswan*", kTunnels},
    {"swanctl", kTunnels},
    {"tinc", kTunnels},
    {"zerotier-one", kTunnels},
    {"ssh/ssh_host_*", kKeys},
    {"ssh/sshd_config*", kRights},
    {"dropbear", kKeys},
    {"ssl/private", kKeys},
    {"pki/private", kKeys},
    {"pki/tls/private", kKeys},
    {"letsencrypt", kKeys},
    {"krb5.keytab", kKeys},
    {"*.keytab", kKeys},
    {"krb5kdc", kKeys},
    {"apt/auth.conf", kKeys},
    {"apt/auth.conf.d", kKeys},
    {"msmtprc", kKeys},
    {"ssmtp", kKeys},
    {"nullmailer", kKeys},
    {"exim4/passwd.client", kKeys},
    {"postfix/sasl", kKeys},
    {"postfix/sasl_passwd*", kKeys},
    {"cloud", kServices},
    {"cni", kServices},
    {"kubernetes", kServices},
    {"rancher", kServices},
    {"docker", kServices},
    {"consul.d", kServices},
    {"nomad.d", kServices},
    {"vault.d", kServices},
    {"salt", kServices},
    {"puppet", kServices},
    {"puppetlabs", kServices},
    {"chef", kServices},
    {"zabbix", kServices},
    {"cups", kServices},
    {"mysql/debian.cnf", kServices},
    {"redis", kServices},
    {"rabbitmq", kServices},
});

consteval bool is_each_named_once() {
  for (std::size_t i = 0; i < kPrivate.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kPrivate[i].name == kPrivate[j].name) return false;
    }
  }
  return true;
}
static_assert(is_each_named_once());

// The last component of a name in the list. It ends a literal.
struct LastComponent {
  std::string_view text;
  std::size_t wildcard = std::string_view::npos;  // where the first one is

  bool matches(const char* name) const {
    if (wildcard == std::string_view::npos) return text == name;
    return std::string_view(name).starts_with(text.substr(0, wildcard)) &&
           fnmatch(text.data(), name, 0) == 0;
  }
};

// One of the list's directories, with the last components of its names: those that begin with a
// letter, sorted, and those that any name could match. A name is held against those of its own
// letter alone: this is done for each entry of /etc at each launch.
struct ListedDirectory {
  std::string_view path;
  std::vector<LastComponent> by_letter;
  std::vector<LastComponent> others;

  bool names(const char* name) const {
    const auto matches = [&](const LastComponent& component) { return component.matches(name); };
    const auto [from, to] =
        std::equal_range(by_letter.begin(), by_letter.end(), LastComponent{{name, 1}}, is_before);
    return std::any_of(from, to, matches) || std::any_of(others.begin(), others.end(), matches);
  }

  static bool is_before(const LastComponent& a, const LastComponent& b) {
    return a.text.front() < b.text.front();
  }
};

const std::vector<ListedDirectory>& listed_directories() {
  static const auto* const all = [] {
    auto* const made = new std::vector<ListedDirectory>;
    for (const PrivatePlace& place : kPrivate) {
      const std::string_view own = directory_part(place.name);
      auto at = std::find_if(made->begin(), made->end(),
                             [&](const ListedDirectory& other) { return other.path == own; });
      if (at == made->end()) at = made->insert(at, {own, {}, {}});
      const std::string_view last = place.name.substr(own.empty() ? 0 : own.size() + 1);
      const std::size_t wildcard = last.find_first_of("*?");
      (wildcard == 0 ? at->others : at->by_letter).push_back({last, wildcard});
    }
    for (ListedDirectory& directory : *made) {
      std::sort(directory.by_letter.begin(), directory.by_letter.end(), ListedDirectory::is_before);
    }
    return made;
  }();
  return *all;
}

class Search {
 public:
  Search(const std::string& etc, EtcReach reach) : etc_(etc), reach_(reach) {}

  Result<std::vector<Node>> run() {
    for (const ListedDirectory& directory : listed_directories()) look_up(directory);
    if (reach_ == EtcReach::kMore) walk();
    if (!failure_.ok()) return failure_.error();
    return outermost();
  }

 private:
  static constexpr std::size_t kMostEntries = 50'000;

  // What is missing, or shut to the caller as it is to a command, has nothing to hide.
  void pass_over(const char* call, const std::string& path, int error = errno) {
    if (is_missing(error) || error == EACCES || error == ELOOP) return;
    if (failure_.ok()) {
      failure_ = call_failed(ErrorCode::kPathRefused, std::string(call) + "(" + path + ")", path,
                             "what is private there is not known: run again", error);
    }
  }

  // Shows each entry of a directory that is none by a symlink.
  template <typename Each>
  void list(int at, const char* name, const std::string& path, Each each) {
    Listing listing(at, name, O_NOFOLLOW);
    if (!listing.is_open()) return pass_over("opendir", path);
    while (const dirent* const entry = listing.next()) each(listing.fd(), *entry);
    if (errno != 0) pass_over("readdir", path);
  }

  // Entries of one directory that the list names.
  void look_up(const ListedDirectory& directory) {
    const std::string path =
        directory.path.empty() ? etc_ : etc_ + "/" + std::string(directory.path);
    list(AT_FDCWD, path.c_str(), path, [&](int fd, const dirent& entry) {
      if (directory.names(entry.d_name)) add(fd, entry.d_name, path + "/" + entry.d_name);
    });
  }

  void add(int directory, const char* name, const std::string& path) {
    struct stat info {};
    if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      return pass_over("fstatat", path);
    add(path, info);
    if (!S_ISLNK(info.st_mode)) return;
    const Result<std::string> target = real_path(path);
    if (!target.ok()) return pass_over("realpath", path, target.error().sys_errno);
    const std::string& real = target.value();
    if (!is_below(real, etc_) || real == etc_) return;
    if (lstat(real.c_str(), &info) != 0) return pass_over("lstat", real);
    add(real, info);
  }

  void add(const std::string& path, const struct stat& info) {
    const bool is_own =
        reach_ == EtcReach::kUser && (info.st_uid == geteuid() || info.st_gid == getegid());
    const bool is_shut = !S_ISLNK(info.st_mode) && (info.st_mode & S_IRWXO) == 0 && !is_own;
    if (is_shut && reach_ != EtcReach::kMore) return;
    found_.push_back({path, node_kind(info.st_mode), 0, 0});
  }

  // What others may not read, or not get to. One directory is open at a time.
  void walk() {
    std::vector<std::string> directories = {etc_};
    while (!directories.empty() && failure_.ok()) {
      const std::string path = std::move(directories.back());
      directories.pop_back();
      list(AT_FDCWD, path.c_str(), path, [&](int fd, const dirent& entry) {
        if (entry.d_type == DT_LNK || !failure_.ok()) return;
        std::string below = path + "/" + entry.d_name;
        if (++looked_at_ > kMostEntries) return refuse(path);
        struct stat info {};
        if (fstatat(fd, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
          return pass_over("fstatat", below);
        }
        if (S_ISLNK(info.st_mode)) return;
        const mode_t wanted = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
        const bool is_plain = S_ISDIR(info.st_mode) || S_ISREG(info.st_mode);
        if (!is_plain || (info.st_mode & wanted) != wanted) {
          found_.push_back({std::move(below), node_kind(info.st_mode), 0, 0});
        } else if (S_ISDIR(info.st_mode)) {
          directories.push_back(std::move(below));
        }
      });
    }
  }

  void refuse(const std::string& path) {
    if (!failure_.ok()) return;
    failure_ =
        Error{ErrorCode::kPathRefused, "too much to look through for what is private: " + path,
              path, "name what is needed of it in filesystem.roots of a profile with base none"};
  }

  // Sorted; what lies below another is hidden with it.
  std::vector<Node> outermost() {
    std::sort(found_.begin(), found_.end(),
              [](const Node& a, const Node& b) { return a.path < b.path; });
    std::vector<Node> out;
    for (Node& node : found_) {
      const auto holds = [&](const Node& other) { return is_below(node.path, other.path); };
      if (std::none_of(out.begin(), out.end(), holds)) out.push_back(std::move(node));
    }
    return out;
  }

  const std::string& etc_;
  const EtcReach reach_;
  std::vector<Node> found_;
  std::size_t looked_at_ = 0;
  Status failure_;
};

}  // namespace

bool may_be_private(const std::string& etc, const std::string& path) {
  if (path.size() <= etc.size() || !is_below(path, etc)) return false;
  const char* const rest = path.c_str() + etc.size() + 1;
  const bool is_listed = std::any_of(kPrivate.begin(), kPrivate.end(), [&](const auto& place) {
    // It ends a literal.
    return fnmatch(place.name.data(), rest, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
  });
  if (is_listed) return true;
  for (std::size_t end = path.find('/', etc.size() + 1);; end = path.find('/', end + 1)) {
    struct stat info {};
    const mode_t wanted = end == std::string::npos ? S_IROTH : S_IXOTH;
    if (lstat(path.substr(0, end).c_str(), &info) != 0) return false;
    if ((info.st_mode & wanted) == 0) return true;
    if (end == std::string::npos) return false;
  }
}

Result<std::vector<Node>> find_private(const std::string& etc, EtcReach reach) {
  return Search(etc, reach).run();
}

}  // namespace sbx
