// SPDX-License-Identifier: Apache-2.0
// The chain of `extends`, from a profile to its last parent, and back again as one profile.
#include "profile/store.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json/check.h"
#include "json/reader.h"
#include "json/writer.h"
#include "profile/decode.h"
#include "profile/default_profile.h"
#include "profile/fields.h"
#include "profile/shipped.h"
#include "profile/source.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSteps = 16;
constexpr std::size_t kMaxDocuments = 64;
constexpr std::string_view kRootProfile = "default";

std::string trust_entry(const ProfileSource& source) {
  return sha256_hex(source.text) + source.label;
}

struct Link {
  ProfileSource source;
  json document;
};

// How a document comes to be laid: the profile itself and the first that it extends lead on to
// `default`; what is laid over those counts by its keys and what it names itself.
enum class Part : std::uint8_t { kBase, kAddition };

// Everything that a profile extends, in the order in which it is laid: parents first, each
// document once. Errors of a parent name its source, since `where` points into it.
class Chain {
 public:
  explicit Chain(const ProfileSearch& search, const TrustedFiles* trusted = nullptr)
      : search_(search), trusted_(trusted) {}

  // Follows `extends` as far as it goes; false where there is an error.
  bool build(ProfileSource source, std::span<const std::string> additions) {
    top_ = source.identity;
    follow(std::move(source), Part::kBase);
    trusted_ = nullptr;
    for (const std::string& name : additions) {
      const std::size_t known = errors_.size();
      auto found = find_profile(name, search_);
      if (found.ok()) {
        follow(std::move(found).value(), Part::kAddition);
      } else {
        about_.clear();
        report(std::move(found.error()));
      }
      for (std::size_t i = known; i < errors_.size(); ++i) {
        if (errors_[i].where.empty()) errors_[i].where = "--with";
      }
    }
    return errors_.empty();
  }

  bool sets_timeout() const {
    return std::any_of(links_.begin(), links_.end(), [](const Link& link) {
      return !link.source.shipped && link.document.is_object() &&
             link.document.contains("limits") && link.document["limits"].contains("timeout_ms");
    });
  }

  // The documents laid over each other. Only after a build without errors.
  Profile merge() {
    Profile profile;
    std::string name;
    std::string description;
    for (const Link& link : links_) {
      about_ = name_in_errors(link.source);
      const NetworkMode mode = profile.network.mode;
      const std::size_t roots = profile.filesystem.roots.size();
      const std::map<std::string, Cache> caches = profile.caches;
      for (Error& error : apply_document(link.document, profile)) report(std::move(error));
      if (link.source.is_preset) only_add(profile, mode, roots, caches);
      if (link.source.identity != top_) continue;
      name = profile.name;
      description = profile.description;
    }
    profile.name = std::move(name);
    profile.description = std::move(description);
    settle(profile);
    return profile;
  }

  std::vector<Error>& errors() { return errors_; }
  TrustedFiles& seen() { return seen_; }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Link& link : links_) {
      out.push_back(link.source.name);
      out.push_back(link.source.identity);
      if (!link.source.shipped) {
        const Result<std::string> real = real_path(link.source.label);
        if (real.ok()) out.push_back(profile_from_text("", real.value()).name);
      }
      const json name = link.document.value("name", json());
      if (name.is_string() && name != link.source.name) out.push_back(name.get<std::string>());
    }
    return out;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const Link& link : links_) {
      if (!link.source.shipped) out.push_back(link.source.label);
    }
    return out;
  }

 private:
  // Parents before the document itself, and the document's own errors before its parents'.
  void follow(ProfileSource source, Part part) {
    about_ = name_in_errors(source);
    const auto is_source = [&](const Link& link) {
      return link.source.identity == source.identity;
    };
    const bool again = is_open(source);
    if (again || open_.size() > kMaxSteps || ++count_ > kMaxDocuments) {
      std::string message = "`extends` leads back to " + source.label;
      if (!again) message = "a chain of more than " + std::to_string(kMaxSteps) + " `extends`";
      if (!again && count_ > kMaxDocuments) {
        message = "more than " + std::to_string(kMaxDocuments) + " profiles in one";
      }
      return report({.code = ErrorCode::kProfileCycle,
                     .message = std::move(message),
                     .where = "/extends",
                     .hint = ""});
    }
    if (std::any_of(links_.begin(), links_.end(), is_source)) return;
    if (!is_trusted(source)) return;
    Link link{std::move(source), {}};
    if (!read(link)) return;
    // The shipped one leads nowhere but to a preset.
    if (!is_root(link)) open_.push_back(link.source.identity);
    const std::vector<std::string> parents = parents_of(link, part);
    for (std::size_t i = 0; i < parents.size() && count_ <= kMaxDocuments; ++i) {
      about_ = name_in_errors(link.source);
      auto found = find_profile(parents[i], search_);
      if (found.ok()) {
        // A preset that is named by itself stands over `default`, which has it already.
        if (is_root(link) && is_open(found.value())) continue;
        follow(std::move(found).value(), i == 0 && !is_root(link) ? part : Part::kAddition);
      } else {
        found.error().where =
            link.document["extends"].is_array() ? "/extends/" + std::to_string(i) : "/extends";
        report(std::move(found.error()));
      }
    }
    if (!is_root(link)) open_.pop_back();
    links_.push_back(std::move(link));
  }

  // Before anything in it counts, and before what it names is opened.
  bool is_trusted(const ProfileSource& source) {
    if (source.shipped) return true;
    std::string entry = trust_entry(source);
    const bool is_known = trusted_ == nullptr || trusted_->contains(entry);
    seen_.insert(std::move(entry));
    if (is_known) return true;
    report({.code = ErrorCode::kProfileUntrusted,
            .message = source.label + " is not trusted as it is now",
            .where = "",
            .hint = ""});
    return false;
  }

  bool is_open(const ProfileSource& source) const {
    return std::find(open_.begin(), open_.end(), source.identity) != open_.end();
  }

  static bool is_root(const Link& link) {
    return link.source.shipped && link.source.name == kRootProfile;
  }

  // A path has one access in a list: of two the last would count, without a word.
  static void check_roots(const json& document, std::vector<Error>& errors) {
    for (const char* const key : {"roots", "+roots"}) {
      const auto filesystem = document.find("filesystem");
      if (filesystem == document.end() || !filesystem->contains(key)) continue;
      std::map<std::string, std::string> seen;
      std::size_t index = 0;
      for (const json& root : filesystem->at(key)) {
        std::string path;
        for (const std::string_view part : split(root["path"].get_ref<const std::string&>(), '/')) {
          if (!part.empty() && part != ".") (path += '/') += part;
        }
        const std::string access = root.value("access", "ro");
        const std::string& other = seen.emplace(path, access).first->second;
        if (other != access) {
          errors.push_back(
              {.code = ErrorCode::kBadValue,
               .message = "the path stands twice in the list, as " + other + " and as " + access,
               .where = std::string("/filesystem/") + key + "/" + std::to_string(index) + "/path",
               .hint = "leave one of the two out"});
        }
        ++index;
      }
    }
  }

  bool read(Link& link) {
    auto document = read_json_strict(link.source.text);
    if (!document.ok()) {
      report(std::move(document.error()));
      return false;
    }
    link.document = std::move(document).value();
    // Shipped documents are known to pass: a test checks each, and a cold launch need not.
    if (link.source.shipped) return true;
    std::vector<Error> errors = check_fields(link.document, kProfileSpec, "");
    if (errors.empty()) check_roots(link.document, errors);
    for (Error& error : errors) report(std::move(error));
    return link.document.is_object();
  }

  // A document with errors still leads on to its parents, whose errors are wanted too.
  static std::vector<std::string> parents_of(const Link& link, Part part) {
    std::vector<std::string> parents;
    const auto add = [&](const json& name) {
      if (!name.is_string()) return;
      const auto& text = name.get_ref<const std::string&>();
      const bool is_relative = is_profile_path(text) && !text.starts_with('/');
      std::string_view rest = text;
      if (is_relative && !link.source.directory.empty()) {
        while (rest.starts_with("./")) rest.remove_prefix(2);
      }
      parents.push_back(is_relative ? link.source.directory + std::string(rest) : text);
    };
    const json extends = link.document.value("extends", json());
    if (extends.is_array()) {
      for (const json& name : extends) add(name);
    } else {
      add(extends);
    }
    if (parents.empty() && part == Part::kBase && !is_root(link))
      parents.emplace_back(kRootProfile);
    return parents;
  }

  // A preset never lowers: a network mode that is wider already stays, and so does a root or a
  // cache that the profile names itself.
  static void only_add(Profile& profile, NetworkMode mode, std::size_t known,
                       const std::map<std::string, Cache>& caches) {
    profile.network.mode = std::max(profile.network.mode, mode);
    std::vector<Root>& roots = profile.filesystem.roots;
    const auto own = roots.begin() + static_cast<std::ptrdiff_t>(std::min(known, roots.size()));
    const auto is_named = [&](const Root& added) {
      return std::any_of(roots.begin(), own,
                         [&](const Root& root) { return root.path == added.path; });
    };
    roots.erase(std::remove_if(own, roots.end(), is_named), roots.end());
    std::erase_if(profile.caches, [&](const auto& added) {
      return std::any_of(caches.begin(), caches.end(), [&](const auto& cache) {
        return is_below(added.second.path, cache.second.path) ||
               is_below(cache.second.path, added.second.path);
      });
    });
    for (const auto& [name, cache] : caches) profile.caches[name] = cache;
  }

  std::string name_in_errors(const ProfileSource& source) const {
    if (source.identity == top_) return "";
    return (source.is_preset ? "in the preset " : "in the parent ") + source.label + ": ";
  }

  void report(Error error) {
    error.message = about_ + error.message;
    errors_.push_back(std::move(error));
  }

  const ProfileSearch& search_;
  const TrustedFiles* trusted_;  // null: whatever is there
  TrustedFiles seen_;
  std::string top_;                // the identity of the profile itself
  std::vector<std::string> open_;  // identities on the way from it to where we are
  std::vector<Link> links_;
  std::size_t count_ = 0;  // documents looked at
  std::vector<Error> errors_;
  std::string about_;  // what errors begin with
};

Error first_of(std::vector<Error>& errors, const std::string& label) {
  Error first = std::move(errors.front());
  // Of the flag the profile knows nothing.
  if (first.where != "--with") first.message = "profile " + label + ": " + first.message;
  if (errors.size() > 1) {
    first.message += " (and " + std::to_string(errors.size() - 1) + " more)";
  }
  return first;
}

Result<LoadedProfile> resolve(ProfileSource source, const ProfileSearch& search,
                              std::vector<Error>& errors,
                              std::span<const std::string> additions = {},
                              const TrustedFiles* trusted = nullptr) {
  LoadedProfile loaded;
  loaded.source = source.label;
  const std::string name = source.name;
  if (source.shipped && name == kRootProfile && additions.empty()) {
    loaded.names = {name, ""};
    loaded.profile = default_profile(loaded.names.back());
    return loaded;
  }
  Chain chain(search, trusted);
  if (chain.build(std::move(source), additions)) {
    loaded.sets_timeout = chain.sets_timeout();
    loaded.profile = chain.merge();
  }
  errors = std::move(chain.errors());
  if (!errors.empty()) {
    Error first = errors.front();
    return first;
  }
  loaded.files = chain.files();
  loaded.names = chain.names();
  if (loaded.profile.name.empty()) loaded.profile.name = name;
  return loaded;
}

// "~/.cargo/bin (ro)", "pypi.org:443": a value, or an entry of a list, in few words.
std::string in_words(const json& entry, const std::string& usual_access) {
  if (entry.is_string()) return entry.get<std::string>();
  if (!entry.is_object()) return entry.dump();
  const std::string access = entry.value("access", usual_access);
  const std::string path = entry.value("path", std::string());
  return access == "none" ? path + " (hidden)" : path + " (" + access + ")";
}

// What a preset's document says, a line a key.
std::vector<std::string> opened_by(const ProfileSource& source) {
  std::vector<std::string> lines;
  const auto document = read_json_strict(source.text);
  if (!document.ok()) return lines;
  for (const auto& [section, keys] : document.value().items()) {
    if (!keys.is_object()) continue;
    const std::string usual_access = section == "caches" ? "rw, kept between runs" : "ro";
    for (const auto& [key, value] : keys.items()) {
      std::string words;
      const json entries = value.is_array() ? value : json::array({value});
      for (const json& entry : entries)
        words += (words.empty() ? "" : ", ") + in_words(entry, usual_access);
      lines.push_back(section + "." + key.substr(key.starts_with('+') ? 1 : 0) + ": " + words);
    }
  }
  return lines;
}

ProfileSummary summarize(const ProfileSource& source, const ProfileSearch& search) {
  std::vector<Error> errors;
  auto loaded = resolve(source, search, errors);
  if (!loaded.ok()) {
    return {source.name, "does not load: " + loaded.error().message, source.label};
  }
  ProfileSummary summary{source.name, loaded.value().profile.description, source.label};
  summary.is_preset = source.is_preset;
  if (source.is_preset) summary.opens = opened_by(source);
  return summary;
}

}  // namespace

std::string LoadedProfile::resolved_json(int indent) const {
  return profile_to_json(profile, indent);
}

std::string LoadedProfile::sha256() const { return sha256_hex(resolved_json()); }

Result<LoadedProfile> load_profile(std::string_view name_or_path, const ProfileSearch& search,
                                   std::span<const std::string> additions,
                                   const TrustedFiles* trusted) {
  SBX_TRY(ProfileSource source, find_profile(name_or_path, search));
  const std::string label = source.label;
  std::vector<Error> errors;
  auto loaded = resolve(std::move(source), search, errors, additions, trusted);
  if (!loaded.ok()) return first_of(errors, label);
  return loaded;
}

Result<TrustedFiles> files_of_profile(const std::string& path, const ProfileSearch& search) {
  SBX_TRY(ProfileSource source, read_profile_file(path));
  Chain chain(search);
  if (chain.build(std::move(source), {})) chain.merge();
  if (!chain.errors().empty()) return first_of(chain.errors(), path);
  return std::move(chain.seen());
}

std::vector<Error> validate_profile_text(std::string_view bytes, std::string_view origin,
                                         const ProfileSearch& search) {
  std::vector<Error> errors;
  (void)resolve(profile_from_text(bytes, origin), search, errors);
  return errors;
}

Result<LoadedProfile> load_profile_text(std::string_view bytes, std::string_view origin,
                                        const ProfileSearch& search) {
  std::vector<Error> errors;
  return resolve(profile_from_text(bytes, origin), search, errors);
}

std::vector<Error> validate_profile_file(const std::string& path, const ProfileSearch& search) {
  auto source = read_profile_file(path);
  if (!source.ok()) return {std::move(source.error())};
  std::vector<Error> errors;
  (void)resolve(std::move(source).value(), search, errors);
  return errors;
}

std::string validation_json(const std::vector<Error>& errors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Error& error : errors) {
    list.push_back({{"code", error_name(error.code)},
                    {"message", error.message},
                    {"where", error.where},
                    {"hint", error.hint}});
  }
  const nlohmann::ordered_json answer = {{"valid", errors.empty()}, {"errors", std::move(list)}};
  return foreign_json(
      answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::vector<ProfileSummary> list_profiles(const ProfileSearch& search) {
  std::vector<ProfileSummary> all;
  for (const ShippedText& shipped : shipped_texts()) {
    auto source = find_profile(shipped.name, search);
    all.push_back(source.ok() ? summarize(source.value(), search)
                              : ProfileSummary{std::string(shipped.name), source.error().message,
                                               "preset:" + std::string(shipped.name), true});
  }
  for (const std::string& path : installed_profile_paths(search)) {
    const std::string name = profile_from_text("", path).name;
    if (shipped_text(name)) continue;
    auto source = read_profile_file(path);
    all.push_back(source.ok() ? summarize(source.value(), search)
                              : ProfileSummary{name, source.error().message, path});
  }
  return all;
}

}  // namespace sbx
