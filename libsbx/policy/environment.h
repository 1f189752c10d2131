// SPDX-License-Identifier: Apache-2.0
// The environment of the command: the caller's variables, scrubbed; the operator's; sbx's own.
// Values only: the launcher hands the caller's environment in.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace sbx {

using Environment = std::map<std::string, std::string, std::less<>>;

// Where programs are looked for when nobody says otherwise.
inline constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// A name whose value is likely a credential: TOKEN, SECRET, PASSWORD, KEY, CREDENTIAL … as a word
// of the name, and a list of well-known ones.
bool is_sensitive_name(std::string_view name);

// Names that change what programs load or run: never taken from a caller, dropped from what is
// inherited (except with scrub `off`).
bool is_never_settable(std::string_view name);

// HTTPS_PROXY, http_proxy, npm_config_proxy.
bool is_proxy_name(std::string_view name);

// Takes out a credential's variable, its source, and what holds the value of that.
void withhold(const Credential& credential, const Environment& inherited, Environment& out);
// Takes out what holds the value; one under 8 bytes is a part of much, and counts for nothing.
void drop_holders(std::string_view value, Environment& out);

// inherited → scrubbed (off: all; default: without credentials; strict: safe names only) → `pass`
// of the operator → sbx's own (HOME, TMPDIR; where nobody answers, the variables that keep programs
// from asking) → `set` of the operator, which wins. `user` is the login name inside.
Environment make_environment(const Policy& policy, const Environment& inherited,
                             std::string_view user, bool is_answered = false);

}  // namespace sbx
