// SPDX-License-Identifier: Apache-2.0
// The view is drawn by what lies below what; every other key as it stands, so that none is missed.
#include "plan_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "json/reader.h"

namespace sbx::page {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostText = 64 << 10;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? "" : text_of(*found);
}

void write_value(Html& html, const Json& value);

void write_object(Html& html, const Json& object) {
  html << "<table class=\"keys\"><tbody>";
  for (const auto& [key, part] : object.items()) {
    html << "<tr data-row><th>";
    html.text(key, kMostText) << "</th><td>";
    write_value(html, part);
    html << "</td></tr>\n";
  }
  html << "</tbody></table>";
}

// The reader bounds the depth.
void write_value(Html& html, const Json& value) {
  if (value.is_object()) return write_object(html, value);
  if (!value.is_array()) {
    html << "<code>";
    html.text(value.is_boolean() ? (value.get<bool>() ? "yes" : "no") : text_of(value), kMostText)
        << "</code>";
    return;
  }
  if (value.empty()) {
    html << "<span class=\"soft\">none</span>";
    return;
  }
  html << "<ul>";
  for (const Json& part : value) {
    html << "<li>";
    write_value(html, part);
    html << "</li>";
  }
  html << "</ul>";
}

struct Mount {
  std::string path;
  std::string access;
};

// Parents before what lies below them.
std::vector<Mount> mounts_of(const Json& plan) {
  std::vector<Mount> mounts;
  const auto found = plan.find("mounts");
  if (found == plan.end() || !found->is_array()) return mounts;
  for (const Json& mount : *found) {
    if (mount.is_object()) mounts.push_back({text_at(mount, "path"), text_at(mount, "access")});
  }
  const auto before = [](char left, char right) {
    return left != right && (left == '/' || (right != '/' && left < right));
  };
  std::stable_sort(mounts.begin(), mounts.end(), [&](const Mount& left, const Mount& right) {
    return std::lexicographical_compare(left.path.begin(), left.path.end(), right.path.begin(),
                                        right.path.end(), before);
  });
  return mounts;
}

bool is_below(const std::string& path, const std::string& parent) {
  if (path.size() <= parent.size() || !path.starts_with(parent)) return false;
  return parent.ends_with('/') || path[parent.size()] == '/';
}

void write_tree(Html& html, const std::vector<Mount>& mounts) {
  constexpr std::size_t kDeepest = 100;  // a browser's own bound is some hundreds of elements
  std::vector<const Mount*> open;
  html << "<ul class=\"tree\" id=\"view\">\n";
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const Mount& mount = mounts[i];
    while (!open.empty() && !is_below(mount.path, open.back()->path)) {
      html << "</ul></details></li>\n";
      open.pop_back();
    }
    const bool is_parent =
        i + 1 < mounts.size() && open.size() < kDeepest && is_below(mounts[i + 1].path, mount.path);
    std::string_view name = mount.path;
    if (!open.empty()) name.remove_prefix(open.back()->path.size());
    if (!open.empty() && name.starts_with('/')) name.remove_prefix(1);
    html << (is_parent ? Markup("<li data-row><details open><summary><code title=\"")
                       : Markup("<li data-row><code title=\""));
    html.text(mount.path) << "\">";
    html.text(name) << "</code> <span class=\"tag\">";
    html.text(mount.access, 200) << "</span>";
    if (is_parent) {
      html << "</summary><ul>\n";
      open.push_back(&mount);
    } else {
      html << "</li>\n";
    }
  }
  for (std::size_t i = 0; i < open.size(); ++i) html << "</ul></details></li>\n";
  html << "</ul>\n";
}

struct Section {
  const char* key;
  const char* title;
};
// In this order; what no row names comes behind, by its key.
constexpr Section kSections[] = {
    {"layers", "Layers"},     {"filter", "Filter"},        {"network", "Network"},
    {"limits", "Limits"},     {"check", "Command policy"}, {"environment", "Environment"},
    {"degraded", "Degraded"}, {"steps", "Steps"},
};
constexpr std::string_view kHead[] = {"profile", "argv", "cwd", "warnings", "mounts"};

void write_section(Html& html, std::string_view id, std::string_view title, const Json& value) {
  html << "<section id=\"";
  html.text(id, 100) << "\"><h2>";
  html.text(title, 100) << "</h2>";
  write_value(html, value);
  html << "</section>\n";
}

void write_head(Html& html, const Json& plan) {
  const std::string profile = text_at(plan, "profile");
  html.begin("Plan of " + profile);
  html << "<header><h1>What profile ";
  html.text(profile, 200) << " would build</h1><p><code>";
  if (const auto argv = plan.find("argv"); argv != plan.end() && argv->is_array()) {
    for (const Json& word : *argv) html.text(text_of(word)) << " ";
  }
  html << "</code></p><p class=\"soft\">in ";
  html.text(text_at(plan, "cwd")) << "</p>";
  if (const auto warnings = plan.find("warnings"); warnings != plan.end() && !warnings->empty()) {
    html << "<section id=\"warnings\"><h2>Warnings</h2>";
    write_value(html, *warnings);
    html << "</section>";
  }
  html << "</header>\n<main>\n"
          "<div class=\"find\"><input type=\"search\" id=\"search\" placeholder=\"Search\" "
          "aria-label=\"Search the plan\" autocomplete=\"off\">"
          "<output id=\"found\" for=\"search\"></output></div>\n";
}

}  // namespace

Status write_plan_page(std::string_view json, Html& html) {
  SBX_TRY(const Json plan, read_json_strict(json, {.max_bytes = std::size_t{64} << 20}));
  if (!plan.is_object()) {
    return Error{ErrorCode::kWrongType, "a plan is a JSON object", "",
                 "sbx-run explain --json prints one"};
  }
  write_head(html, plan);
  html << "<section><h2>View</h2>";
  const std::vector<Mount> mounts = mounts_of(plan);
  if (mounts.empty()) html << "<p>The host's own: there is no mount namespace.</p>";
  write_tree(html, mounts);
  html << "</section>\n";
  for (const Section& section : kSections) {
    const auto found = plan.find(section.key);
    if (found != plan.end()) write_section(html, section.key, section.title, *found);
  }
  for (const auto& [key, value] : plan.items()) {
    const auto is_named = [&key = key](const Section& section) { return key == section.key; };
    if (std::any_of(std::begin(kSections), std::end(kSections), is_named)) continue;
    if (std::find(std::begin(kHead), std::end(kHead), key) != std::end(kHead)) continue;
    write_section(html, key, key, value);
  }
  html << "</main>\n";
  if (html.end()) return {};
  return call_failed(ErrorCode::kOutputUnwritable, "the page cannot be written", "write");
}

}  // namespace sbx::page
