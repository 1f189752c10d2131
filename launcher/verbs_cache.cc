// SPDX-License-Identifier: Apache-2.0
// cache: what caches there are, and one of them emptied for all workspaces.
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "flag_table.h"
#include "flags.h"
#include "host_files/places.h"
#include "host_files/remove_tree.h"
#include "json/writer.h"
#include "verbs.h"

namespace sbx {
namespace {

std::uint64_t measured = 0;
int add_size(const char*, const struct stat* info, int, struct FTW*) {
  measured += static_cast<std::uint64_t>(info->st_blocks) * 512;
  return 0;
}

std::vector<std::string> entries_of(const std::string& path) {
  std::vector<std::string> names;
  Listing listing(path);
  while (const dirent* entry = listing.next()) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

int list_caches(const std::string& place, bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& name : entries_of(place)) {
    measured = 0;
    static constexpr int kOpenAtOnce = 32;
    nftw((place + "/" + name).c_str(), add_size, kOpenAtOnce, FTW_PHYS | FTW_MOUNT);
    const std::size_t parts = entries_of(place + "/" + name).size();
    list.push_back({{"name", name}, {"size", measured}, {"parts", parts}});
    text += name + "  " + std::to_string(measured / 1024) + " KiB\n";
  }
  const std::string out =
      json ? foreign_json(list.dump()) + "\n" : (text.empty() ? "no caches\n" : text);
  return say(out);
}

}  // namespace

int verb_cache(const Invocation& invocation) {
  RunOptions options;
  const Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (!parsed.ok()) return refuse(parsed.error(), invocation);
  if (parsed.value().help) return say(*parsed.value().help);
  const Result<std::string> place = cache_place(invocation.environment);
  // It prints text: JSON where that was asked for.
  const auto refused = [&](const Error& error) {
    if (options.json) return refuse(error, invocation);
    complain(error);
    return 125;
  };
  if (!place.ok()) return refused(place.error());
  if (options.what == "list" && options.name.empty()) {
    return list_caches(place.value(), options.json);
  }
  const std::vector<std::string> names = entries_of(place.value());
  if (options.what != "clear" || options.name.empty()) {
    const bool known = options.what == "list" || options.what == "clear";
    return refused(Error{
        ErrorCode::kBadFlag, "cache list, or cache clear NAME", "cache",
        nearest_value(known ? "" : options.what, ValueKind::kCacheAction, "sbx-run cache --help")});
  }
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    return refused(Error{ErrorCode::kPathNotFound, "no cache is named " + options.name, "cache",
                         "sbx-run cache list names them"});
  }
  // The directories stay: a session may show them.
  bool is_clear = true;
  const std::string top = place.value() + "/" + options.name;
  for (const std::string& part : entries_of(top)) is_clear &= clear_tree(top + "/" + part);
  if (is_clear) return 0;
  return refused(Error{ErrorCode::kSetupFailed, "not all of " + top + " could be removed", "cache",
                       "see who may write in it"});
}

}  // namespace sbx
