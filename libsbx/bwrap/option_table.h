// SPDX-License-Identifier: Apache-2.0
// The names of the options, how many arguments each takes, and how bubblewrap says that some lack.
#pragma once

#include <cstdint>
#include <string_view>

namespace sbx::bwrap {

enum class Opt : std::uint8_t {
  kHelp,
  kVersion,
  kArgs,
  kArgv0,
  kUnshareAll,
  kShareNet,
  kFlag,
  kFd,
  kUid,
  kGid,
  kChdir,
  kBind,
  kBindFd,
  kRemountRo,
  kOverlaySrc,
  kOverlay,
  kPlainOverlay,
  kLabel,
  kPlace,
  kTmpfs,
  kDir,
  kData,
  kSymlink,
  kLockFile,
  kSeccomp,
  kAddSeccomp,
  kClearenv,
  kSetenv,
  kUnsetenv,
  kHostname,
  kCapAdd,
  kCapDrop,
  kPerms,
  kSize,
  kChmod,
  kEnd,
};

struct OptionSpec {
  std::string_view name;
  Opt opt;
  int arguments;
  std::string_view lacking;  // "--x takes an argument", without the name where it is the option's
};

// nullptr for an unknown name.
const OptionSpec* find_option(std::string_view name);

// The number of a capability by its name ("CAP_CHOWN", any case); -1 for an unknown one.
int capability_number(std::string_view name);

}  // namespace sbx::bwrap
