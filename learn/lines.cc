// SPDX-License-Identifier: Apache-2.0
// Paths are compared as the profile writes them: ${home} and ${workspace} are directories of their
// own there.
#include "learn/lines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "json/text_at.h"
#include "policy/policy.h"
#include "profile/shipped.h"

namespace sbx::learn {
namespace {

constexpr std::size_t kManyInOneDirectory = 4;

// What programs fetch once and keep: one file of it is as good as another. docs/policy.md lists
// them.
constexpr auto kCaches = std::to_array<std::string_view>(
    {"${home}/.npm", "${home}/.cache/pip", "${home}/.cache/uv", "${home}/.cache/go-build",
     "${home}/go/pkg/mod", "${home}/.cargo/registry", "${home}/.cargo/git",
     "${home}/.m2/repository", "${home}/.gradle/caches", "${home}/.cache/yarn",
     "${home}/.cache/ccache", "${home}/.ccache", "${home}/.local/share/pnpm/store",
     "${home}/.cache/composer", "${home}/.cache/bazel", "${home}/.cache/pre-commit"});

struct LimitKey {
  std::string_view name;  // in a result
  const char* key;        // in a profile
  std::optional<std::int64_t> (*value)(const LimitsProfile&);
};
constexpr auto kLimits = std::to_array<LimitKey>({
    {"timeout", "timeout_ms", [](const LimitsProfile& all) { return all.timeout_ms; }},
    {"memory", "memory_mb", [](const LimitsProfile& all) { return all.memory_mb; }},
    {"cpu", "cpu_ms", [](const LimitsProfile& all) { return all.cpu_ms; }},
    {"pids", "pids", [](const LimitsProfile& all) { return all.pids; }},
    {"disk", "tmp_mb", [](const LimitsProfile& all) { return all.tmp_mb; }},
    {"file_size", "file_kb", [](const LimitsProfile& all) { return all.file_kb; }},
});

bool covers(const Line& wide, const Line& line) {
  return line.path() != wide.path() && is_below(line.path(), wide.path()) &&
         (wide.is_written() || !line.is_written());
}

void take_over(Line& to, const Line& from) {
  to.programs.insert(from.programs.begin(), from.programs.end());
  to.files += std::max<std::size_t>(from.files, 1);
}

// The entries of a list of a preset.
std::vector<std::string> listed(const Document& preset, const char* section, const char* key,
                                const char* member) {
  std::vector<std::string> out;
  const auto in = preset.find(section);
  if (in == preset.end() || !in->contains(key)) return out;
  for (const Document& entry : (*in)[key]) {
    out.push_back(entry.is_string() ? entry.get<std::string>() : text_at(entry, member));
  }
  return out;
}

}  // namespace

std::string Line::path() const {
  return setting == "filesystem.roots" ? text_at(value, "path") : "";
}

bool Line::is_written() const { return text_at(value, "access") == "rw"; }

std::string cache_of(const std::string& path) {
  for (const std::string_view cache : kCaches) {
    if (is_below(path, cache)) return std::string(cache);
  }
  return "";
}

bool add_line(std::vector<Line>& lines, Line line) {
  const std::string path = line.path();
  for (Line& known : lines) {
    if (known.setting != line.setting) continue;
    if (line.setting.starts_with("limits.")) {
      if (known.value >= line.value) return false;
      known.value = line.value;
      return true;
    }
    if (path.empty() ? known.value != line.value : known.path() != path) continue;
    known.programs.insert(line.programs.begin(), line.programs.end());
    if (path.empty() || known.is_written() || !line.is_written()) return false;
    known.value["access"] = "rw";
    return true;
  }
  const bool is_covered = !path.empty() && std::any_of(lines.begin(), lines.end(), [&](Line& wide) {
    return !wide.path().empty() && covers(wide, line);
  });
  if (is_covered) return false;
  lines.push_back(std::move(line));
  return true;
}

std::vector<Line> drop_refused(std::vector<Line>& lines,
                               const std::vector<std::pair<std::string, bool>>& refused) {
  std::vector<Line> dropped;
  std::erase_if(lines, [&](const Line& line) {
    const std::string path = line.path();
    if (path.empty()) return false;
    const auto count = std::count_if(refused.begin(), refused.end(), [&](const auto& one) {
      const bool is_of_it = line.files > 1 ? is_below(one.first, path) : one.first == path;
      return is_of_it && (line.is_written() || !one.second);
    });
    const bool is_refused = count > 0 && static_cast<std::size_t>(count) >= line.files;
    if (is_refused) dropped.push_back(line);
    return is_refused;
  });
  return dropped;
}

void drop_covered(std::vector<Line>& lines) {
  for (std::size_t i = 0; i < lines.size();) {
    const Line& line = lines[i];
    const auto wide = std::find_if(lines.begin(), lines.end(), [&](const Line& other) {
      return !line.path().empty() && !other.path().empty() && covers(other, line);
    });
    if (wide == lines.end()) {
      ++i;
      continue;
    }
    take_over(*wide, line);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool join_directories(std::vector<Line>& lines,
                      const std::function<bool(const std::string& directory)>& may_be_shown) {
  std::map<std::string, std::size_t> files;
  for (const Line& line : lines) {
    const std::string path = line.path();
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos || slash == 0 || line.is_written()) continue;
    ++files[path.substr(0, slash)];
  }
  bool is_changed = false;
  for (const auto& [directory, count] : files) {
    if (count < kManyInOneDirectory || !may_be_shown(directory)) continue;
    const Document root = {{"path", directory}, {"access", "ro"}, {"optional", true}};
    is_changed |= add_line(lines, {"filesystem.roots", root, "directory", {}, 0});
  }
  drop_covered(lines);
  return is_changed;
}

Document with_lines(Document profile, const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    const std::size_t dot = line.setting.find('.');
    Grant grant{line.setting.substr(0, dot), line.setting.substr(dot + 1), true, {}};
    grant.appends = is_list(line.setting);
    grant.value = grant.appends ? Document::array({line.value}) : line.value;
    add_grant(grant, profile);
    if (line.setting == "network.allow") profile["network"]["mode"] = "allowlist";
  }
  return profile;
}

std::optional<Line> raised_limit(std::string_view met, const LimitsProfile& limits,
                                 const std::vector<Line>& lines, double took_ms) {
  const auto limit = std::find_if(kLimits.begin(), kLimits.end(),
                                  [&](const LimitKey& one) { return one.name == met; });
  if (limit == kLimits.end()) return std::nullopt;
  const std::string setting = std::string("limits.") + limit->key;
  std::int64_t value = limit->value(limits).value_or(0);
  for (const Line& line : lines) {
    if (line.setting == setting) value = line.value.get<std::int64_t>();
  }
  if (value <= 0) return std::nullopt;
  const double longest_ms = met == "timeout" ? took_ms * 4 : 0;
  value = std::max(value * 2, static_cast<std::int64_t>(longest_ms));
  return Line{setting, value, "limit", {}, 0};
}

std::vector<Proposal> presets_for(const std::vector<Line>& lines) {
  std::vector<Proposal> proposals;
  for (const ShippedText& shipped : shipped_texts()) {
    if (!shipped.is_preset) continue;
    const Document preset = Document::parse(shipped.text, nullptr, false);
    const auto roots = listed(preset, "filesystem", "+roots", "path");
    const auto hosts = listed(preset, "network", "+allow", "");
    Proposal proposal{std::string(shipped.name), 0};
    for (const Line& line : lines) {
      const bool is_root = !line.path().empty() && !line.is_written() &&
                           std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
                             return is_below(line.path(), root);
                           });
      const bool is_host = line.setting == "network.allow" && line.value.is_string() &&
                           std::find(hosts.begin(), hosts.end(), line.value) != hosts.end();
      if (is_root || is_host) ++proposal.lines;
    }
    if (proposal.lines > 0) proposals.push_back(std::move(proposal));
  }
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Proposal& a, const Proposal& b) { return a.lines > b.lines; });
  return proposals;
}

std::string explained(const Line& line) {
  const std::string path = line.path();
  std::string words = line.setting + " ";
  words += path.empty() ? line.value.dump() : path + (line.is_written() ? " (rw)" : " (ro)");
  words += ": " + line.tier;
  if (line.files > 1) words += " for " + std::to_string(line.files) + " paths";
  const char* before = ", asked for by ";
  for (const std::string& program : line.programs) {
    words += before + program;
    before = ", ";
  }
  return words;
}

}  // namespace sbx::learn
