// SPDX-License-Identifier: Apache-2.0
// Text is held against the profile's table once it is in the document: here only its shape counts.
#include "learn/grants.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "base/text.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "model/grant.h"
#include "policy/policy.h"

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

// Where the value stands among those that its setting can have; null is no limit. nullopt: it is
// none of them.
std::optional<std::int64_t> rank_of(const std::string& key, const Document& value) {
  if (value.is_null()) return std::numeric_limits<std::int64_t>::max();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const std::span<const std::string_view> names =
      key == "mode" ? std::span<const std::string_view>(kNames<NetworkMode>)
                    : std::span<const std::string_view>(kNames<GitConfig>);
  const auto found =
      value.is_string() ? std::find(names.begin(), names.end(), value.get_ref<const std::string&>())
                        : names.end();
  if (found == names.end()) return std::nullopt;
  return found - names.begin();
}

bool is_enough(const Grant& grant, const Document& known) {
  const auto has = rank_of(grant.key, known);
  const auto wanted = rank_of(grant.key, grant.value);
  return has && wanted && *has >= *wanted;
}

// Of a setting that has one value, with all that the profile extends.
Document value_of(const Grant& grant, const Profile& profile) {
  const auto limit = [](const std::optional<std::int64_t>& value) {
    return value ? Document(*value) : Document();
  };
  if (grant.key == "mode") return name_of(profile.network.mode);
  if (grant.key == "git_config") return name_of(profile.filesystem.git_config);
  if (grant.key == "tmp_mb") return limit(profile.limits.tmp_mb);
  return limit(grant.key == "file_kb" ? profile.limits.file_kb : profile.limits.open_files);
}

Access access_of(const Document& entry) {
  const std::string text = text_at(entry, "access");
  if (text == "none") return Access::kNone;
  return text == "rw" ? Access::kReadWrite : Access::kReadOnly;
}

std::string path_of(const Document& entry, const std::string& home) {
  static constexpr std::string_view kHome = "${home}";
  const std::string path = text_at(entry, "path");
  const bool is_of_home = !home.empty() && is_below(path, kHome);
  return is_of_home ? home + path.substr(kHome.size()) : path;
}

// Whether it says all about what lies below it by how it is spelled.
bool is_literal(const std::string& path) {
  return !path.empty() && path.find('*') == path.npos && path.find("..") == path.npos;
}

auto root_of(Document& list, const std::string& path, const std::string& home) {
  return std::find_if(list.begin(), list.end(),
                      [&](const Document& known) { return path_of(known, home) == path; });
}

// Whether the roots of a list give as much already: of those that hold the path the deepest counts.
bool is_given(Document& list, const Document& entry, const std::string& home) {
  const std::string path = path_of(entry, home);
  const auto same = root_of(list, path, home);
  if (same != list.end()) return access_of(*same) >= access_of(entry);
  std::size_t deepest = 0;
  std::optional<Access> access;
  for (const Document& known : list) {
    const std::string at = path_of(known, home);
    if (at.find('*') != at.npos) return false;  // it may hide it
    if (!is_literal(at) || !is_below(path, at) || at.size() < deepest) continue;
    deepest = at.size();
    access = access_of(known);
  }
  return is_literal(path) && access && *access >= access_of(entry);
}

// A root below another one is a mount point, which nothing in there can rename or remove.
bool drop_covered_by(const Document& wide, Document& list, const std::string& home) {
  const std::string top = path_of(wide, home);
  if (!is_literal(top) || access_of(wide) != Access::kReadWrite) return false;
  const Document before = list;
  const auto is_kept_from = [&](const std::string& path) {
    return std::any_of(before.begin(), before.end(), [&](const Document& other) {
      const std::string at = path_of(other, home);
      return access_of(other) == Access::kNone && is_below(at, top) && is_below(path, at);
    });
  };
  Document kept = Document::array();
  for (const Document& known : before) {
    const std::string path = path_of(known, home);
    const bool is_covered = is_literal(path) && path != top && is_below(path, top) &&
                            !known.contains("noexec") && !is_kept_from(path);
    if (!is_covered) kept.push_back(known);
  }
  list = std::move(kept);
  return list.size() != before.size();
}

bool add_root(const Document& entry, Document& list, const std::string& home) {
  const std::string path = path_of(entry, home);
  const bool is_new = !is_given(list, entry, home);
  const auto known = root_of(list, path, home);
  if (is_new && known != list.end()) {
    (*known)["access"] = entry.value("access", Document("ro"));
  } else if (is_new) {
    list.push_back(entry);
  }
  const bool is_listed = root_of(list, path, home) != list.end();
  return (is_listed && drop_covered_by(entry, list, home)) || is_new;
}

}  // namespace

bool is_list(std::string_view setting) {
  return std::find(kLists.begin(), kLists.end(), setting) != kLists.end();
}

Result<Grant> parse_grant(std::string_view text) {
  const auto refuse = [&] {
    return Error{ErrorCode::kBadValue, "no setting that can be added: " + std::string(text),
                 "grant", ""};
  };
  // The mode follows the list: what applies it sets that too.
  const auto [setting, appends, value] = grant_parts(text);
  const bool is_known = appends
                            ? is_list(setting)
                            : std::find(kValues.begin(), kValues.end(), setting) != kValues.end();
  if (!is_known || !read_json_strict(value).ok()) return refuse();
  Grant grant;
  grant.appends = appends;
  grant.value = parse_ordered_json(value);
  if (grant.appends && !grant.value.is_array()) grant.value = Document::array({grant.value});
  const std::size_t dot = setting.find('.');
  grant.section = setting.substr(0, dot);
  grant.key = setting.substr(dot + 1);
  return grant;
}

bool is_without_list(const Grant& grant, const Profile& profile) {
  return grant.section == "commands" && !profile.commands.allow;
}

Grant lacking(Grant grant, const Profile& profile, const std::string& home) {
  if (!grant.appends && is_enough(grant, value_of(grant, profile))) grant.value = Document::array();
  if (grant.key != "roots") return grant;
  Document roots = Document::array();
  for (const Root& root : profile.filesystem.roots) {
    roots.push_back({{"path", root.path}, {"access", name_of(root.access)}});
  }
  Document lacks = Document::array();
  for (const Document& entry : grant.value) {
    if (!is_given(roots, entry, home)) lacks.push_back(entry);
  }
  grant.value = std::move(lacks);
  return grant;
}

bool add_grant(const Grant& grant, Document& profile, const std::string& home) {
  if (grant.value.is_array() && grant.value.empty()) return false;
  Document& section = profile[grant.section];
  if (!section.is_object()) section = Document::object();
  if (!grant.appends) {
    const auto known = section.find(grant.key);
    if (known != section.end() && (*known == grant.value || is_enough(grant, *known))) return false;
    section[grant.key] = grant.value;
    return true;
  }
  const std::string more = "+" + grant.key;
  Document& list = section.contains(grant.key) ? section[grant.key] : section[more];
  if (!list.is_array()) list = Document::array();
  bool is_changed = false;
  for (const Document& entry : grant.value) {
    if (grant.key == "roots" && !text_at(entry, "path").empty()) {
      is_changed |= add_root(entry, list, home);
    } else if (std::find(list.begin(), list.end(), entry) == list.end()) {
      list.push_back(entry);
      is_changed = true;
    }
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
