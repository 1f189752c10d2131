// SPDX-License-Identifier: Apache-2.0
// A profile's name or path → the profile, with its parents merged. Reads profile files and the
// directories given; writes nothing and reads no environment.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace sbx {

struct ProfileSearch {
  std::vector<std::string> directories;  // of installed profiles, first match wins
};

struct LoadedProfile {
  Profile profile;
  std::string source;         // "shipped:NAME" or the file's path
  bool sets_timeout = false;  // limits.timeout_ms stands in it or in a parent that is not shipped
  std::vector<std::string> files;  // paths of the chain's files, as they were opened
  // Of the whole chain: as `extends` and the documents have them, as their files are called behind
  // symlinks, and the files' own identities (ProfileSource).
  std::vector<std::string> names;

  // Both are made when asked for: a plain launch needs neither.
  std::string resolved_json(int indent = -1) const;  // every key, `extends` resolved
  std::string sha256() const;                        // of resolved_json() on one line, in hex
};

// A file and its content: 64 hex digits of SHA-256, and the path as it is opened.
using TrustedFiles = std::set<std::string>;

struct ProfileSummary {
  std::string name;
  std::string description;
  std::string source;
  bool is_preset = false;
  std::vector<std::string> opens = {};  // of a preset: "network.allow: pypi.org:443, …" a key
};

// A name without "/" and without a last ".json" is a shipped profile, else NAME.json in one of
// the directories; anything else is a file. The first error stands for all of them. `additions`
// are named alike, and laid over the profile in order, as the later ones of `extends` are.
// `trusted`, where it is given: each file of the chain, but for those of the additions, must be
// among them with the content that is used; nothing that another one names is opened. Errors:
// kProfileUntrusted for that.
Result<LoadedProfile> load_profile(std::string_view name_or_path, const ProfileSearch& search,
                                   std::span<const std::string> additions = {},
                                   const TrustedFiles* trusted = nullptr);

// What there is to trust in a profile's file: it and all that it extends. Errors: those of
// load_profile().
Result<TrustedFiles> files_of_profile(const std::string& path, const ProfileSearch& search);

// Every error of a profile, its parents' included; empty when it loads. `origin` is the path that
// the bytes come from: `extends` is relative to it, and the name defaults to its stem.
std::vector<Error> validate_profile_text(std::string_view bytes, std::string_view origin,
                                         const ProfileSearch& search);
// The profile itself, of the same text.
Result<LoadedProfile> load_profile_text(std::string_view bytes, std::string_view origin,
                                        const ProfileSearch& search);
std::vector<Error> validate_profile_file(const std::string& path, const ProfileSearch& search);

// {"valid": …, "errors": [{"code","message","where","hint"}]} on one line.
std::string validation_json(const std::vector<Error>& errors);

// Shipped ones first, then presets, then installed ones, each by name. An installed file that does
// not load is listed with its error as the description; one that a shipped profile hides is left
// out.
std::vector<ProfileSummary> list_profiles(const ProfileSearch& search);

}  // namespace sbx
