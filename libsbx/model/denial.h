// SPDX-License-Identifier: Apache-2.0
// Refusals → the entries of a result's `denials`: alike ones counted together, in bounded number.
// The one counter: whatever refuses, or finds something out about a run, tells it here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx {

// What refused, by the names of a denial's `layer`.
enum class Refuser : std::uint8_t { kSeccomp, kLandlock, kMount, kNetwork, kCommand };
inline constexpr std::string_view kRefusers[] = {"seccomp", "landlock", "mount", "network",
                                                 "command"};
constexpr std::string_view refuser_name(Refuser refuser) {
  return kRefusers[static_cast<std::size_t>(refuser)];
}
constexpr std::optional<Refuser> refuser_of_name(std::string_view name) {
  for (std::size_t index = 0; index < std::size(kRefusers); ++index) {
    if (kRefusers[index] == name) return static_cast<Refuser>(index);
  }
  return std::nullopt;
}

struct Denial {
  Refuser layer = Refuser::kMount;
  std::string operation;  // a word of ours: "mount", "connect", "protected_created" …
  std::string target;     // path, address or empty
  std::uint64_t count = 1;
  std::string program;  // the refused process's comm
  std::string grant;    // what the operator would add, such as "seccomp.allow += \"bpf\""

  friend bool operator==(const Denial&, const Denial&) = default;
};

// What the command chose of it, as a terminal may show it. Once it is redacted: a secret may hold
// bytes that are not shown.
void make_printable(Denial& denial);

class DenialLedger {
 public:
  static constexpr std::size_t kMostOfALayer = 256;
  // The target of the entry that stands for an operation's refusals beyond that.
  static constexpr std::string_view kOthers = "(others)";
  // Of one text: a path, and the words of a grant around it. The rest is cut.
  static constexpr std::size_t kMostText = 4096 + 256;

  // A refusal: how many different ones there are, and what they say, is for the command to choose.
  void count(Denial denial);
  // What was found out about the run has an entry of its own, however many the command has filled.
  void add(Denial denial);

  // As they came; those that stand for others at the end.
  std::vector<Denial> entries() const;

 private:
  std::vector<Denial> entries_;
  std::vector<Denial> others_;  // at most one an operation
};

}  // namespace sbx
