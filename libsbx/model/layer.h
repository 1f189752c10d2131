// SPDX-License-Identifier: Apache-2.0
// The layers of a sandbox, by name and as a set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sbx {

// The layers that `isolation.require` and the result's `sandbox.layers` name. The first seven are
// the namespaces, in the order of `isolation.namespaces`.
enum class Layer : std::uint8_t {
  kUser,
  kMount,
  kPid,
  kNet,
  kIpc,
  kUts,
  kCgroup,
  kSeccomp,
  kLandlock,
  kNoNewPrivs,
  kCapabilities,
};
inline constexpr auto kLayerNames =
    std::to_array<std::string_view>({"user", "mount", "pid", "net", "ipc", "uts", "cgroup",
                                     "seccomp", "landlock", "no_new_privs", "capabilities"});
inline constexpr int kLayerCount = static_cast<int>(kLayerNames.size());
inline constexpr int kNamespaceCount = 7;  // the first of kLayerNames

constexpr const char* layer_name(Layer layer) {
  return kLayerNames[static_cast<std::size_t>(layer)].data();  // literals: they end in NUL
}

// A set of layers as a bit mask.
class LayerSet {
 public:
  constexpr LayerSet() = default;
  constexpr void add(Layer layer) { bits_ |= bit(layer); }
  constexpr void remove(Layer layer) { bits_ &= ~bit(layer); }
  constexpr bool has(Layer layer) const { return (bits_ & bit(layer)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(LayerSet, LayerSet) = default;

 private:
  static constexpr std::uint32_t bit(Layer layer) { return 1U << static_cast<unsigned>(layer); }
  std::uint32_t bits_ = 0;
};

}  // namespace sbx
