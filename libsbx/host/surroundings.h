// SPDX-License-Identifier: Apache-2.0
// Where sbx-run runs itself: on the machine as it is, in a chroot, or in a container of some
// runtime; and the exact words that have that runtime take less away. Reads only.
#pragma once

#include <cstdint>

namespace sbx {

enum class Surroundings : std::uint8_t {
  kHost,
  kChroot,
  kDocker,
  kPodman,
  kKubernetes,
  kNspawn,
  kContainer,  // of another runtime
};
Surroundings read_surroundings();

constexpr bool is_container(Surroundings where) { return where > Surroundings::kChroot; }

struct SurroundingsText {
  const char* name;    // "podman"
  const char* means;   // what it may take away
  const char* unseal;  // what gives namespaces and mounts; null: nothing is taken
};
const SurroundingsText& surroundings_text(Surroundings where);

}  // namespace sbx
