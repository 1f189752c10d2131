// SPDX-License-Identifier: Apache-2.0
// Only what profile.h's own initialisers leave open.
#include "profile/default_profile.h"

namespace sbx {

Profile default_profile() {
  Profile profile;
  profile.name = "default";
  profile.description =
      "The workspace and a system to work with; no network; destructive commands ask.";
  profile.filesystem.roots = {
      {"${workspace}", Access::kReadWrite, false, "/filesystem/roots/0", false}};
  profile.filesystem.protect = {{".git/hooks", true, "/filesystem/protect/0"},
                                {".git/config", true, "/filesystem/protect/1"}};
  for (const Layer layer : {Layer::kUser, Layer::kMount, Layer::kPid, Layer::kNet, Layer::kIpc,
                            Layer::kUts, Layer::kCgroup}) {
    profile.isolation.namespaces.add(layer);
  }
  for (const Layer layer :
       {Layer::kUser, Layer::kMount, Layer::kPid, Layer::kNet, Layer::kSeccomp, Layer::kLandlock}) {
    profile.isolation.require.add(layer);
  }
  profile.limits.timeout_ms = 120'000;
  profile.limits.memory_mb = kDefaultMemoryMb;
  profile.limits.pids = 1024;
  profile.limits.open_files = 1024;
  profile.limits.tmp_mb = 256;
  profile.limits.output_kb = 100;
  profile.ceilings.timeout_ms = 600'000;
  profile.ceilings.output_kb = 1024;
  profile.commands.ask = {"destructive"};
  return profile;
}

}  // namespace sbx
