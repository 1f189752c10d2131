// SPDX-License-Identifier: Apache-2.0
// The forms of a profile's strings: paths, names, hosts. Each is a predicate and the pattern that
// says the same in the schema. Pure: no path is looked at.
#pragma once

#include <array>
#include <string_view>

#include "json/field.h"

namespace sbx::forms {

// Whether a path is a pattern of paths.
inline bool is_glob(std::string_view path) { return path.find('*') != std::string_view::npos; }

// What a path may begin with, each as ${NAME}.
inline constexpr auto kVariables = std::to_array<std::string_view>(
    {"workspace", "home", "tmp", "runtime", "ssh_agent", "xauthority"});

extern const TextForm kLabel;         // a profile's own name
extern const TextForm kReference;     // of a parent: a name or a path
extern const TextForm kNoNul;         // any text without NUL
extern const TextForm kPattern;       // a regular expression; RE2 compiles it later
extern const TextForm kHomePath;      // ~/…
extern const TextForm kCacheName;     // one component
extern const TextForm kRootPath;      // absolute, or below ${workspace}, ${home}, ${tmp}
extern const TextForm kInnerPath;     // relative to a root
extern const TextForm kDevicePath;    // below /dev
extern const TextForm kAbsolutePath;  // a file of the host
extern const TextForm kHost;          // an entry of network.allow
extern const TextForm kSyscall;
extern const TextForm kEnvName;
extern const TextForm kProgram;      // one word
extern const TextForm kToken;        // a header's name
extern const TextForm kQueryName;    // as it stands in a URL
extern const TextForm kMethod;       // of HTTP
extern const TextForm kPathPattern;  // of an HTTP rule

}  // namespace sbx::forms
