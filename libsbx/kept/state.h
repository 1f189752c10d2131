// SPDX-License-Identifier: Apache-2.0
// What is written down of one kept layer, and its text: NUL-terminated "key=value" records, since
// paths and labels are bytes. The file lies where no command can write, and is read strictly
// anyway.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sbx {

// How it keeps writes: in directories that the kernel lays over the real ones, or in a whole copy.
enum class KeptKind : std::uint8_t { kOverlay, kCopy };
const char* kept_kind_name(KeptKind kind);

inline constexpr std::size_t kEpochName = 16;  // digits of one's name
using Epochs = std::vector<std::string>;       // names in the pool, the oldest first

struct LayerState {
  KeptKind kind = KeptKind::kOverlay;
  std::string workspace;  // resolved
  std::uint64_t dev = 0;  // of the directory that was there at the last run
  std::uint64_t ino = 0;
  std::int64_t created_s = 0;      // Unix time
  bool is_thrown_away = false;     // at the end of the run that it was made for
  std::vector<std::string> roots;  // resolved; an epoch's parts are numbered by this order
  Epochs stack;                    // the last one is written to, the others are frozen
  std::vector<std::pair<std::string, Epochs>>
      labels;                         // frozen stacks, in the order of their making
  std::vector<std::string> protects;  // absolute paths
  std::vector<std::string> hidden;
  std::vector<std::string> protect_globs;  // see host/globs.h
  std::vector<std::string> hidden_globs;
  std::vector<std::string> read_only;
  std::string committed;  // the epoch that holds what the last commit made real; empty: none
  Epochs shown;  // commits of other layers that the real files showed when it was branched off
  bool operator==(const LayerState&) const = default;

  const Epochs* find_label(std::string_view label) const;
};

std::string encode_layer_state(const LayerState& state);
// Errors: kSetupFailed, naming the record.
Result<LayerState> decode_layer_state(std::string_view text);

}  // namespace sbx
