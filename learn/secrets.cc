// SPDX-License-Identifier: Apache-2.0
// HOME may be another's, or none: a list of places that went by it alone would hide nothing.
#include "learn/secrets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/files.h"
#include "base/system_places.h"
#include "base/text.h"
#include "host/etc_private.h"
#include "policy/policy.h"

namespace sbx::learn {
namespace {

constexpr std::size_t kMostAccounts = std::size_t{1} << 20;  // bytes
constexpr std::size_t kMostHomes = 256;
constexpr int kMostFiles = 100'000;  // a browser's profile comes after all keys
constexpr int kDeepestFile = 16;
constexpr int kDeepestEnv = 4;  // .env files lie where a project begins

struct Secret {
  std::string_view path;  // below the home where it starts with ~
  std::string_view why;
};

// Places that hold what opens other doors. docs/policy.md lists them.
constexpr auto kSecrets = std::to_array<Secret>({
    {"~/.ssh", "keys of ssh"},
    {"~/.gnupg", "keys of gpg"},
    {"~/.aws", "credentials of a cloud"},
    {"~/.azure", "credentials of a cloud"},
    {"~/.config/gcloud", "credentials of a cloud"},
    {"~/.oci", "credentials of a cloud"},
    {"~/.boto", "credentials of a cloud"},
    {"~/.s3cfg", "credentials of a cloud"},
    {"~/.config/doctl", "credentials of a cloud"},
    {"~/.config/hcloud", "credentials of a cloud"},
    {"~/.config/rclone", "credentials of a cloud"},
    {"~/.terraform.d/credentials.tfrc.json", "credentials of a cloud"},
    {"~/.vault-token", "credentials of a cloud"},
    {"~/.kube", "credentials of clusters"},
    {"~/.docker/config.json", "credentials of registries"},
    {"~/.config/containers/auth.json", "credentials of registries"},
    {"~/.npmrc", "a token of npm"},
    {"~/.yarnrc.yml", "a token of npm"},
    {"~/.pypirc", "a token of PyPI"},
    {"~/.config/pypoetry/auth.toml", "a token of PyPI"},
    {"~/.local/share/uv/credentials", "a token of PyPI"},
    {"~/.cargo/credentials.toml", "a token of crates.io"},
    {"~/.cargo/credentials", "a token of crates.io"},
    {"~/.gem/credentials", "a token of RubyGems"},
    {"~/.netrc", "passwords"},
    {"~/.git-credentials", "passwords"},
    {"~/.config/git/credentials", "passwords"},
    {"~/.pgpass", "passwords"},
    {"~/.my.cnf", "passwords"},
    {"~/.config/gh", "a token of GitHub"},
    {"~/.config/glab-cli", "a token of GitLab"},
    {"~/.password-store", "passwords"},
    {"~/.local/share/keyrings", "a keyring"},
    {"~/.local/share/kwalletd", "a keyring"},
    {"~/.mozilla", "a browser's profile"},
    {"~/.config/google-chrome", "a browser's profile"},
    {"~/.config/chromium", "a browser's profile"},
    {"~/.config/BraveSoftware", "a browser's profile"},
    {"~/.config/microsoft-edge", "a browser's profile"},
    {"~/.config/mozilla", "a browser's profile"},
    {"~/.config/vivaldi", "a browser's profile"},
    {"~/.config/opera", "a browser's profile"},
    {"~/.librewolf", "a browser's profile"},
    {"~/.thunderbird", "a browser's profile"},
    {"~/snap/firefox", "a browser's profile"},
    {"~/snap/chromium", "a browser's profile"},
    {"~/.var/app/org.mozilla.firefox", "a browser's profile"},
    {"~/.var/app/org.chromium.Chromium", "a browser's profile"},
    {"~/.var/app/com.google.Chrome", "a browser's profile"},
    {"~/.bash_history", "a shell's history"},
    {"~/.zsh_history", "a shell's history"},
    {"~/.zhistory", "a shell's history"},
    {"~/.histfile", "a shell's history"},
    {"~/.history", "a shell's history"},
    {"~/.sh_history", "a shell's history"},
    {"~/.ash_history", "a shell's history"},
    {"~/.ksh_history", "a shell's history"},
    {"~/.local/share/fish/fish_history", "a shell's history"},
    {"~/.python_history", "a shell's history"},
    {"~/.node_repl_history", "a shell's history"},
    {"~/.psql_history", "a shell's history"},
    {"~/.mysql_history", "a shell's history"},
    {"/etc/shadow", "password hashes"},
    {"/etc/gshadow", "password hashes"},
    {"/etc/sudoers", "who may become root"},
    {"/etc/sudoers.d", "who may become root"},
    {"/etc/ssl/private", "private keys"},
    {"/etc/sbx", "the managed policy"},
});

struct Account {
  std::string uid;
  std::string home;
};

std::vector<Account> accounts() {
  std::vector<Account> out;
  const Result<std::string> text = read_file("/etc/passwd", kMostAccounts);
  if (!text.ok()) return out;
  for (const std::string_view line : split(text.value(), '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    static constexpr std::size_t kUid = 2;
    static constexpr std::size_t kHome = 5;
    if (fields.size() <= kHome || !fields[kHome].starts_with('/')) continue;
    out.push_back({std::string(fields[kUid]), std::string(fields[kHome])});
  }
  return out;
}

// By either name; "/" is nobody's.
void add_home(std::vector<std::string>& homes, std::string home) {
  while (home.ends_with('/')) home.pop_back();
  const Result<std::string> real = real_path(home);
  for (const std::string& name : {home, real.ok() ? real.value() : home}) {
    const bool is_new = std::find(homes.begin(), homes.end(), name) == homes.end();
    if (name.starts_with('/') && name.size() > 1 && is_new) homes.push_back(name);
  }
}

void add_place(std::vector<SecretPlace>& places, const std::string& path, std::string_view why) {
  const Result<std::string> real = real_path(path);
  for (const std::string& name : {path, real.ok() ? real.value() : path}) {
    const bool is_new = std::none_of(places.begin(), places.end(),
                                     [&](const SecretPlace& known) { return known.path == name; });
    if (is_new) places.push_back({name, std::string(why)});
  }
}

void add_linked(const std::string& path, int deep, int& looks_left, FileIds& files) {
  struct stat info {};
  if (--looks_left < 0 || lstat(path.c_str(), &info) != 0) return;
  if (S_ISREG(info.st_mode) && info.st_nlink > 1) files.emplace(info.st_dev, info.st_ino);
  if (!S_ISDIR(info.st_mode) || deep == 0) return;
  Listing listing(AT_FDCWD, path.c_str(), O_NOFOLLOW);
  while (const dirent* entry = listing.next()) {
    add_linked(path + "/" + entry->d_name, deep - 1, looks_left, files);
  }
}

// Links into these lead to programs and to what everybody reads.
bool is_of_the_system(const std::string& path) {
  static constexpr std::string_view kPublic[] = {"/etc", "/opt",  "/proc", "/sys", "/dev",
                                                 "/run", "/snap", "/nix",  "/gnu"};
  return path == "/" || is_system_place(path) || is_below_any(path, kPublic);
}

bool holds_secret_so_deep(const std::string& directory, const FileIds& linked, int deep,
                          int& looks_left) {
  Listing listing(AT_FDCWD, directory.c_str(), O_NOFOLLOW);
  while (const dirent* entry = listing.next()) {
    if (--looks_left < 0) return true;
    const std::string name = entry->d_name;
    if (name == ".env" || name.starts_with(".env.")) return true;
    if (is_one_of(linked, directory + "/" + name)) return true;
    if (entry->d_type != DT_DIR || deep == 0) continue;
    if (holds_secret_so_deep(directory + "/" + name, linked, deep - 1, looks_left)) return true;
  }
  return false;
}

// What the symlinks below a place lead to.
void add_targets(const std::string& path, int deep, int& looks_left,
                 std::vector<std::string>& targets) {
  struct stat info {};
  if (--looks_left < 0 || lstat(path.c_str(), &info) != 0) return;
  if (S_ISLNK(info.st_mode)) {
    Result<std::string> real = real_path(path);
    if (real.ok() && !is_of_the_system(real.value())) targets.push_back(std::move(real).value());
  }
  if (!S_ISDIR(info.st_mode) || deep == 0) return;
  Listing listing(AT_FDCWD, path.c_str(), O_NOFOLLOW);
  while (const dirent* entry = listing.next()) {
    add_targets(path + "/" + entry->d_name, deep - 1, looks_left, targets);
  }
}

}  // namespace

std::vector<std::string> own_homes(const std::string& named) {
  std::vector<std::string> homes;
  add_home(homes, named);
  const std::string uid = std::to_string(geteuid());
  for (Account& account : accounts()) {
    if (account.uid == uid) add_home(homes, std::move(account.home));
  }
  return homes;
}

Result<std::vector<SecretPlace>> secret_places(const std::vector<std::string>& homes) {
  std::vector<SecretPlace> places;
  std::vector<std::string> all = homes;
  for (Account& account : accounts()) {
    if (all.size() < kMostHomes && is_there(account.home)) add_home(all, std::move(account.home));
  }
  for (const Secret& secret : kSecrets) {
    if (!secret.path.starts_with('~')) {
      add_place(places, std::string(secret.path), secret.why);
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string path = all[i] + std::string(secret.path.substr(1));
      if (i < homes.size() || is_there(path)) add_place(places, path, secret.why);
    }
  }
  SBX_TRY(const std::vector<Node> etc, find_private("/etc", EtcReach::kMore));
  for (const Node& node : etc) add_place(places, node.path, "what is private in /etc");
  int looks_left = kMostFiles;
  for (const SecretPlace& place : std::vector<SecretPlace>(places)) {
    std::vector<std::string> targets;
    add_targets(place.path, kDeepestFile, looks_left, targets);
    for (const std::string& target : targets) {
      const bool holds_a_home = std::any_of(
          all.begin(), all.end(), [&](const std::string& home) { return is_below(home, target); });
      if (!holds_a_home) add_place(places, target, place.why);
    }
  }
  return places;
}

FileIds linked_files(const std::vector<SecretPlace>& places) {
  FileIds files;
  int looks_left = kMostFiles;
  for (const SecretPlace& place : places) add_linked(place.path, kDeepestFile, looks_left, files);
  return files;
}

bool is_one_of(const FileIds& files, const std::string& path) {
  struct stat info {};
  return !files.empty() && lstat(path.c_str(), &info) == 0 &&
         files.count({info.st_dev, info.st_ino}) != 0;
}

bool holds_secret(const std::string& directory, const FileIds& linked, int& looks_left) {
  return holds_secret_so_deep(directory, linked, kDeepestEnv, looks_left);
}

}  // namespace sbx::learn
