// SPDX-License-Identifier: Apache-2.0
// Paths as text: where each leads from, and whose it is.
#include "guard/places.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sbx {
namespace {

// /dev/tcp and /dev/udp are connections that bash makes, and no files.
constexpr std::array<std::string_view, 14> kHarmlessDevices = {
    "/dev/null", "/dev/zero",  "/dev/full",   "/dev/random", "/dev/urandom",
    "/dev/tty",  "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd",
    "/dev/pts",  "/dev/shm",   "/dev/tcp",    "/dev/udp"};

constexpr std::array<std::string_view, 13> kSystemBase = {"/usr",
                                                          "/etc",
                                                          "/bin",
                                                          "/sbin",
                                                          "/lib",
                                                          "/lib32",
                                                          "/lib64",
                                                          "/libx32",
                                                          "/libexec",
                                                          "/nix/store",
                                                          "/gnu/store",
                                                          "/proc",
                                                          "/sys/devices/system/cpu"};

// "*", ".*", "**", ".[!.]*": a pattern that picks nothing out.
bool matches_everything(std::string_view component) {
  return component.find_first_of("*?[") != std::string_view::npos &&
         component.find_first_not_of("*?[]!^.{},") == std::string_view::npos;
}

// The first component of `path` below `ancestor`, and nothing behind it but such components.
bool is_everything_in(std::string_view path, std::string_view ancestor) {
  if (!is_below(path, ancestor) || path.size() == ancestor.size()) return false;
  const auto parts = split(path.substr(ancestor == "/" ? 1 : ancestor.size() + 1), '/');
  return std::all_of(parts.begin(), parts.end(), matches_everything);
}

// Whether removing what the pattern `path` names may remove `own`: it matches it, or a parent.
bool may_hold(std::string_view path, const std::string& own) {
  if (path.find_first_of("*?[") == std::string_view::npos) return is_below(own, path);
  const auto patterns = split(path, '/');
  const auto parts = split(own, '/');
  if (patterns.size() > parts.size()) return false;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (fnmatch(std::string(patterns[i]).c_str(), std::string(parts[i]).c_str(), 0) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string resolve_path(std::string_view path, std::string_view directory) {
  if (!path.starts_with('/') && directory.empty()) return "";
  std::string out = path.starts_with('/') || directory == "/" ? "" : std::string(directory);
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const std::size_t slash = out.rfind('/');
      out.resize(slash == std::string::npos ? 0 : slash);
      continue;
    }
    out += '/';
    out += part;
  }
  return out.empty() ? "/" : out;
}

std::string_view Places::raw(const Word& word) const {
  if (word.span.end > text_.size() || word.span.begin > word.span.end) return "";
  return text_.substr(word.span.begin, word.span.end - word.span.begin);
}

std::optional<std::string> Places::expand(const Word& word) const {
  std::string_view written = raw(word);
  if (word.known) {
    if (!word.has_tilde || !word.text.starts_with('~')) return word.text;
    const std::string_view rest = std::string_view(word.text).substr(1);
    if (!rest.empty() && rest.front() != '/') return std::nullopt;  // somebody's home
    if (home().empty()) return std::nullopt;
    return home() + std::string(rest);
  }
  if (written.starts_with('"')) written.remove_prefix(1);
  const std::array<std::pair<std::string_view, std::string_view>, 7> known = {
      std::pair<std::string_view, std::string_view>{"$HOME", home()},
      {"${HOME}", home()},
      {"$PWD", "."},
      {"${PWD}", "."},
      {"$(pwd)", "."},
      {"$TMPDIR", "/tmp"},
      {"${TMPDIR}", "/tmp"}};
  for (const auto& [prefix, value] : known) {
    if (!written.starts_with(prefix) || value.empty()) continue;
    // The rest must be all that is known: no other variable stands in it.
    const std::string_view rest = written.substr(prefix.size());
    const bool plain = rest.find_first_of("$`") == std::string_view::npos &&
                       (rest.empty() || rest.front() == '/' || rest.front() == '"');
    if (plain) return std::string(value) + word.text;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> Places::resolve(const Word& word,
                                                        const Directories& directories) const {
  const std::optional<std::string> path = expand(word);
  if (!path) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string& directory : directories) {
    std::string full = resolve_path(*path, directory);
    if (full.empty()) return std::nullopt;
    out.push_back(std::move(full));
    if (path->starts_with('/')) break;
  }
  return out;
}

bool Places::is_own(std::string_view path) const {
  return is_below(path, policy_.workspace) || is_below(path, "/tmp");
}

bool Places::is_known_removal(std::string_view path) const {
  for (const std::string& own : {policy_.workspace, std::string("/tmp")}) {
    if (may_hold(path, own) || is_everything_in(path, own)) return false;
  }
  return is_own(path);
}

bool Places::is_device(std::string_view path) {
  if (!is_below(path, "/dev") || path == "/dev") return false;
  return std::none_of(kHarmlessDevices.begin(), kHarmlessDevices.end(),
                      [&](std::string_view device) { return is_below(path, device); });
}

bool Places::is_in_roots(std::string_view path) const {
  if (is_own(path) || (!policy_.home.empty() && is_below(path, policy_.home))) return true;
  if (std::any_of(kHarmlessDevices.begin(), kHarmlessDevices.end(),
                  [&](std::string_view device) { return is_below(path, device); })) {
    return true;
  }
  const auto& filesystem = policy_.profile.filesystem;
  return std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
    return root.access != Access::kNone && is_below(path, root.path);
  });
}

bool Places::is_confined(std::string_view path) const {
  return is_in_roots(path) ||
         std::any_of(kSystemBase.begin(), kSystemBase.end(),
                     [&](std::string_view base) { return is_below(path, base); });
}

}  // namespace sbx
