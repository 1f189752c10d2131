// SPDX-License-Identifier: Apache-2.0
// The chain of `extends`, from a profile to its last parent, and back again as one profile.
#include "profile/store.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/sha256.h"
#include "json/check.h"
#include "json/reader.h"
#include "profile/decode.h"
#include "profile/default_profile.h"
#include "profile/fields.h"
#include "profile/shipped.h"
#include "profile/source.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSteps = 16;
constexpr std::string_view kRootProfile = "default";

struct Link {
  ProfileSource source;
  json document;
};

// A chain under construction. Errors of a parent name its source, since `where` points into it.
class Chain {
 public:
  explicit Chain(const ProfileSearch& search) : search_(search) {}

  // Follows `extends` as far as it goes; false where an error ends the way.
  bool build(ProfileSource source) {
    while (add(std::move(source))) {
      const auto parent = parent_of(links_.back());
      if (!parent) return errors_.empty();
      auto found = find_profile(*parent, search_);
      if (!found.ok()) {
        found.error().where = "/extends";
        report(std::move(found.error()));
        return false;
      }
      source = std::move(found).value();
    }
    return false;
  }

  bool sets_timeout() const {
    return std::any_of(links_.begin(), links_.end(), [](const Link& link) {
      return !link.source.shipped && link.document.is_object() &&
             link.document.contains("limits") && link.document["limits"].contains("timeout_ms");
    });
  }

  // The documents laid over each other, the last parent first. Only after a build without errors.
  Profile merge() {
    Profile profile;
    for (std::size_t i = links_.size(); i-- > 0;) {
      reporting_ = i;
      for (Error& error : apply_document(links_[i].document, profile)) report(std::move(error));
    }
    settle(profile);
    return profile;
  }

  std::vector<Error>& errors() { return errors_; }

  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const Link& link : links_) {
      if (!link.source.shipped) out.push_back(link.source.label);
    }
    return out;
  }

 private:
  bool add(ProfileSource source) {
    const auto again = std::find_if(links_.begin(), links_.end(), [&](const Link& link) {
      return link.source.identity == source.identity;
    });
    if (again != links_.end() || links_.size() > kMaxSteps) {
      report({.code = ErrorCode::kProfileCycle,
              .message = again != links_.end()
                             ? "`extends` leads back to " + source.label
                             : "a chain of more than " + std::to_string(kMaxSteps) + " `extends`",
              .where = "/extends",
              .hint = ""});
      return false;
    }
    links_.push_back({std::move(source), {}});
    reporting_ = links_.size() - 1;
    return read(links_.back());
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
    const std::size_t before = errors_.size();
    for (Error& error : check_fields(link.document, kProfileSpec, "")) report(std::move(error));
    return errors_.size() == before || can_go_on(link);
  }

  // A document with errors still leads on to its parents, whose errors are wanted too.
  static bool can_go_on(const Link& link) {
    return link.document.is_object() && link.document.value("extends", json("")).is_string();
  }

  static std::optional<std::string> parent_of(const Link& link) {
    const auto extends = link.document.find("extends");
    if (extends == link.document.end()) {
      const bool root = link.source.shipped && link.source.name == kRootProfile;
      return root ? std::nullopt : std::optional<std::string>(kRootProfile);
    }
    const auto& name = extends->get_ref<const std::string&>();
    if (!is_profile_path(name) || name.starts_with('/')) return name;
    return link.source.directory + name;
  }

  void report(Error error) {
    if (reporting_ > 0) {
      error.message = "in the parent " + links_[reporting_].source.label + ": " + error.message;
    }
    errors_.push_back(std::move(error));
  }

  const ProfileSearch& search_;
  std::vector<Link> links_;
  std::vector<Error> errors_;
  std::size_t reporting_ = 0;  // the link that errors are about
};

Error first_of(std::vector<Error>& errors, const std::string& label) {
  Error first = std::move(errors.front());
  first.message = "profile " + label + ": " + first.message;
  if (errors.size() > 1) {
    first.message += " (and " + std::to_string(errors.size() - 1) + " more)";
  }
  return first;
}

Result<LoadedProfile> resolve(ProfileSource source, const ProfileSearch& search,
                              std::vector<Error>& errors) {
  LoadedProfile loaded;
  loaded.source = source.label;
  const std::string name = source.name;
  if (source.shipped && name == kRootProfile) {
    loaded.profile = default_profile();
    return loaded;
  }
  Chain chain(search);
  if (chain.build(std::move(source))) {
    loaded.sets_timeout = chain.sets_timeout();
    loaded.profile = chain.merge();
  }
  errors = std::move(chain.errors());
  if (!errors.empty()) {
    Error first = errors.front();
    return first;
  }
  loaded.files = chain.files();
  if (loaded.profile.name.empty()) loaded.profile.name = name;
  return loaded;
}

ProfileSummary summarize(const ProfileSource& source, const ProfileSearch& search) {
  std::vector<Error> errors;
  auto loaded = resolve(source, search, errors);
  if (!loaded.ok()) {
    return {source.name, "does not load: " + loaded.error().message, source.label};
  }
  return {source.name, loaded.value().profile.description, source.label};
}

}  // namespace

std::string LoadedProfile::resolved_json(int indent) const {
  return profile_to_json(profile, indent);
}

std::string LoadedProfile::sha256() const { return sha256_hex(resolved_json()); }

Result<LoadedProfile> load_profile(std::string_view name_or_path, const ProfileSearch& search) {
  SBX_TRY(ProfileSource source, find_profile(name_or_path, search));
  const std::string label = source.label;
  std::vector<Error> errors;
  auto loaded = resolve(std::move(source), search, errors);
  if (!loaded.ok()) return first_of(errors, label);
  return loaded;
}

std::vector<Error> validate_profile_text(std::string_view bytes, std::string_view origin,
                                         const ProfileSearch& search) {
  std::vector<Error> errors;
  (void)resolve(profile_from_text(bytes, origin), search, errors);
  return errors;
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
  return answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<ProfileSummary> list_profiles(const ProfileSearch& search) {
  std::vector<ProfileSummary> all;
  for (const ShippedText& shipped : shipped_texts()) {
    if (auto source = find_profile(shipped.name, search); source.ok()) {
      all.push_back(summarize(source.value(), search));
    }
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
