// SPDX-License-Identifier: Apache-2.0
// Any text as a grant: what is taken is put into a document, once; putting it there again changes
// nothing, and what is refused says why.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "learn/never.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sbx::learn;
  const auto must = [](bool holds) {
    if (!holds) std::abort();
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grant = parse_grant(text);
  if (!grant.ok()) {
    must(grant.error().code == sbx::ErrorCode::kBadValue);
    return 0;
  }
  (void)never_granted(
      grant.value(),
      {{"/home/ann"}, {{"/home/ann/.ssh", "keys of ssh"}}, {}, {"/home/ann/profile.json"}, {}});
  for (Document profile :
       {Document::object(), Document::parse(R"({"filesystem": {"roots": []}})")}) {
    const std::string before = profile.dump();
    add_grant(grant.value(), profile);
    const std::string after = profile.dump();
    add_grant(grant.value(), profile);
    must(profile.dump() == after);
    must(difference(before, after).empty() == (before == after));
  }
  return 0;
}
