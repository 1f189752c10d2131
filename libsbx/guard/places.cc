// SPDX-License-Identifier: Apache-2.0
// Paths as text: where each leads from, and whose it is.
#include "guard/places.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/system_places.h"
#include "base/text.h"
#include "shell/arguments.h"
#include "shell/marks.h"

namespace sbx::guard {
namespace {

// Besides the plain ones. /dev/tcp and /dev/udp are connections that bash makes, and no files.
constexpr std::string_view kHarmlessDevices[] = {"/dev/tty",    "/dev/stdin", "/dev/stdout",
                                                 "/dev/stderr", "/dev/fd",    "/dev/pts",
                                                 "/dev/shm",    "/dev/tcp",   "/dev/udp"};

bool is_harmless_device(std::string_view path) {
  return is_below_any(path, kPlainDevices) || is_below_any(path, kHarmlessDevices);
}

constexpr std::string_view kSystemBase[] = {"/etc", "/proc", "/sys/devices/system/cpu"};

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

Places::Places(const Policy& policy, const Request& request, std::string start)
    : policy_(policy), home_(command_home(policy)), start_(std::move(start)) {
  for (const auto* set : {&policy.run.environment.set, &request.env}) {
    const auto tmp = set->find("TMPDIR");
    if (tmp != set->end() && tmp->second.starts_with('/')) tmp_ = resolve_path(tmp->second, "/");
  }
  const FilesystemProfile& filesystem = policy.sandbox.filesystem;
  constexpr std::string_view kVarTmp = "/var/tmp";
  var_tmp_is_tmp_ =
      filesystem.base != Base::kHost && policy.sandbox.isolation.namespaces.has(Layer::kMount) &&
      std::none_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
        return is_below(kVarTmp, root.path) || is_below(root.path, kVarTmp);
      });
}

namespace {

bool has_sure_letter(std::string_view part) {
  return std::any_of(part.begin(), part.end(), [](char c) {
    return c != shell::kMaybe && c != shell::kComponent &&
           std::string_view(".*?[]!^").find(c) == std::string_view::npos;
  });
}

// Whether nothing that kComponent may stand for makes the component "..", "/" included: what stands
// before and behind it is then one of its own.
bool is_sure_name(std::string_view part) {
  const std::size_t at = part.find(shell::kComponent);
  const std::string_view before = part.substr(0, at);
  const std::string_view behind = part.substr(at + 1);
  const auto may_be_parent = [](std::string_view piece) {
    return piece.size() > 1 && !has_sure_letter(piece);
  };
  return has_sure_letter(part) && behind.find(shell::kComponent) == std::string_view::npos &&
         !may_be_parent(before) && !may_be_parent(behind);
}

// Components that may be nothing are left out; nullopt: one may lead elsewhere.
std::optional<std::string> settle(std::string_view path) {
  if (path.find(shell::kMaybe) == path.npos && path.find(shell::kComponent) == path.npos)
    return std::string(path);
  std::string out;
  bool is_first = true;
  for (const std::string_view part : split(path, '/')) {
    std::string sure(part);
    // "/" alone would make a relative path an absolute one.
    if (part.find(shell::kComponent) != std::string_view::npos &&
        (!is_sure_name(part) || (is_first && part.front() == shell::kComponent))) {
      return std::nullopt;
    }
    std::erase(sure, shell::kMaybe);
    const bool is_unsure = sure.size() != part.size();
    // "$USER/x" may be "/x", ".$USER" may be "." or "..".
    if (is_unsure && (sure == "." || sure == ".." || (sure.empty() && is_first))) {
      return std::nullopt;
    }
    if (!is_first) out += '/';
    if (!is_unsure || !sure.empty()) out += part;
    is_first = false;
  }
  return out;
}

}  // namespace

std::optional<std::string> Places::expand(const shell::Word& word) const {
  if (!word.known && word.shape.empty()) return std::nullopt;
  const std::string_view text = word.known ? word.text : word.shape;
  if (text.empty()) return std::string();
  std::string_view rest = text.substr(1);
  std::string base;
  const bool has_tilde = word.has_tilde && text.front() == '~';
  if (has_tilde || shell::is_place_mark(text.front())) {
    // A name follows: somebody's home, or one that begins like the directory.
    if (!rest.empty() && rest.front() != '/') return std::nullopt;
    const char mark = has_tilde ? shell::kHome : text.front();
    base = mark == shell::kHome    ? home_
           : mark == shell::kTmp   ? tmp_
           : mark == shell::kStart ? start_
                                   : ".";
    if (base.empty()) return std::nullopt;
  } else {
    rest = text;
  }
  if (std::any_of(rest.begin(), rest.end(), shell::is_place_mark)) return std::nullopt;
  const auto settled = settle(rest);
  if (!settled) return std::nullopt;
  return base + *settled;
}

std::optional<std::vector<std::string>> Places::resolve(const shell::Word& word,
                                                        const Directories& directories,
                                                        bool follows) const {
  const auto path = expand(word);
  if (!path) return std::nullopt;
  // rm refuses to remove "..", not what is in it.
  const std::size_t slash = word.has_glob ? path->rfind('/') : std::string::npos;
  if (slash != std::string::npos &&
      shell::may_match_parent(std::string_view(*path).substr(0, slash)))
    return std::nullopt;
  constexpr std::string_view kVarTmp = "/var/tmp";
  std::vector<std::string> out;
  for (const std::string& directory : directories) {
    std::string full = resolve_path(*path, directory);
    if (full.empty()) return std::nullopt;
    if (var_tmp_is_tmp_ && is_below(full, kVarTmp)) full.replace(0, kVarTmp.size(), "/tmp");
    for (const Link& link : links_) {
      if (link.place != full || !(follows || path->ends_with('/'))) continue;
      if (!link.target) return std::nullopt;
      out.insert(out.end(), link.target->begin(), link.target->end());
    }
    out.push_back(std::move(full));
    if (path->starts_with('/')) break;
  }
  return out;
}

void Places::add_links(const shell::Command& command, const Directories& directories) {
  static constexpr std::size_t kMostLinks = 64;
  if (command.words.empty() || shell::base_name(command.words.front().text) != "ln") return;
  const shell::Arguments arguments(command, 1, "tS", {"target-directory", "suffix"});
  if (arguments.find('s', "symbolic") == nullptr) return;
  std::vector<const shell::Word*> targets = arguments.operands();
  if (targets.empty() || links_.size() >= kMostLinks) return;
  const std::string given(arguments.value('t', "target-directory"));
  shell::Word directory{{}, given.empty() ? "." : given, "", true, false, false, false};
  bool is_directory = true;  // what holds the links, and none itself
  if (given.empty() && targets.size() > 1) {
    directory = *targets.back();
    targets.pop_back();
    is_directory = targets.size() > 1 || directory.text.ends_with('/');
  }
  const auto places = resolve(directory, directories);
  if (!places) return;
  const auto add = [&](std::string place, const shell::Word& target) {
    auto led = resolve(target, {resolve_path("..", place)});
    const bool is_inside = led && std::all_of(led->begin(), led->end(),
                                              [&](const auto& path) { return is_own(path); });
    if (!is_inside) links_.push_back({std::move(place), std::move(led)});
  };
  for (const std::string& place : *places) {
    for (const shell::Word* target : targets) {
      if (!is_directory) add(place, *target);
      add(resolve_path(shell::base_name(target->text), place), *target);
    }
  }
}

bool Places::is_own(std::string_view path) const {
  const bool is_linked = std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
    return path.size() > link.place.size() && is_below(path, link.place);
  });
  if (is_linked) return false;
  return is_below(path, policy_.sandbox.workspace) || is_below(path, "/tmp");
}

bool Places::is_known_removal(std::string_view path, bool is_recursive,
                              bool takes_what_is_below) const {
  // As patterns: what it may be at all, and what it is for sure whatever was picked.
  std::string widest(path);
  std::string picked(path);
  for (std::size_t i = 0; i < widest.size(); ++i) {
    const char c = widest[i];
    if (c == shell::kStar || c == shell::kDeep || c == shell::kChoice || c == shell::kPicked ||
        c == shell::kComponent)
      widest[i] = '*';
    if (c == shell::kStar || (c == shell::kDeep && is_recursive) ||
        (c == shell::kPicked && takes_what_is_below))
      picked[i] = '*';
  }
  for (const std::string& own : {policy_.sandbox.workspace, std::string("/tmp")}) {
    if (may_hold(widest, own) || is_everything_in(picked, own)) return false;
  }
  return is_own(path);
}

std::string Places::shown(std::string path) {
  std::replace_if(path.begin(), path.end(), shell::is_mark, '*');
  return path;
}

const Root* Places::nearest_root(std::string_view path) const {
  const auto& filesystem = policy_.sandbox.filesystem;
  const Root* nearest = nullptr;
  for (const Root& root : filesystem.roots) {
    if (is_below(path, root.path) &&
        (nearest == nullptr || root.path.size() >= nearest->path.size())) {
      nearest = &root;
    }
  }
  return nearest;
}

std::optional<Access> Places::access(std::string_view path) const {
  const Root* const nearest = nearest_root(path);
  if (nearest == nullptr) return std::nullopt;
  return std::min(nearest->access, most_access(policy_.sandbox.maxima, path));
}

bool Places::may_change_below(std::string_view path) const {
  if (is_own(path)) return false;
  if (!policy_.sandbox.home.empty() && is_below(path, policy_.sandbox.home)) return true;
  const auto is_written_in = [&](const auto& entry) {  // a root, a maximum of the managed policy
    return is_below(entry.path, path) && access(entry.path) == Access::kReadWrite;
  };
  const auto& roots = policy_.sandbox.filesystem.roots;
  const auto& maxima = policy_.sandbox.maxima;
  return access(path) == Access::kReadWrite || is_below(policy_.sandbox.workspace, path) ||
         std::any_of(roots.begin(), roots.end(), is_written_in) ||
         std::any_of(maxima.begin(), maxima.end(), is_written_in);
}

bool Places::is_written_outside(std::string_view path) const {
  if (is_own(path) || (!policy_.sandbox.home.empty() && is_below(path, policy_.sandbox.home)))
    return false;
  return access(path) == Access::kReadWrite;
}

bool Places::is_written_outside_below(std::string_view path) const {
  const auto is_within = [&](const auto& entry) {  // a root, a maximum of the managed policy
    return is_below(entry.path, path) && is_written_outside(entry.path);
  };
  const auto& roots = policy_.sandbox.filesystem.roots;
  const auto& maxima = policy_.sandbox.maxima;
  return is_written_outside(path) || std::any_of(roots.begin(), roots.end(), is_within) ||
         std::any_of(maxima.begin(), maxima.end(), is_within);
}

bool Places::is_above_workspace(std::string_view path) const {
  return path != policy_.sandbox.workspace && is_below(policy_.sandbox.workspace, path);
}

bool Places::holds_own(std::string_view path) const {
  return is_below(policy_.sandbox.workspace, path) || is_below("/tmp", path);
}

std::string Places::private_place(std::string_view path) const {
  if (access(path)) return "";
  const std::string& home = policy_.sandbox.home;
  const bool is_private = policy_.sandbox.filesystem.home == HomeMode::kPrivate;
  if (is_private && !home.empty() && is_below(path, home)) return home;
  return is_below(path, "/tmp") ? "/tmp" : "";
}

bool Places::may_write(std::string_view path) const {
  if (const auto granted = access(path)) return *granted == Access::kReadWrite;
  // /proc is read-only, but for the descriptors that it leads to.
  const bool is_descriptor = is_below(path, "/proc") && path.find("/fd/") != path.npos;
  if (!private_place(path).empty() || is_below(path, "/dev/shm"))
    return has_scratch(policy_.sandbox);
  return is_below(path, "/dev") || is_descriptor;
}

bool Places::is_device(std::string_view path) {
  return is_below(path, "/dev") && path != "/dev" && !is_harmless_device(path);
}

bool Places::is_in_roots(std::string_view path) const {
  if (is_own(path) || (!policy_.sandbox.home.empty() && is_below(path, policy_.sandbox.home)))
    return true;
  if (is_harmless_device(path)) return true;
  const auto& filesystem = policy_.sandbox.filesystem;
  return std::any_of(filesystem.roots.begin(), filesystem.roots.end(), [&](const Root& root) {
    return root.access != Access::kNone && is_below(path, root.path);
  });
}

bool Places::is_confined(std::string_view path) const {
  return is_in_roots(path) || is_system_place(path) || is_below_any(path, kSystemBase);
}

}  // namespace sbx::guard
