// SPDX-License-Identifier: Apache-2.0
// Any bytes → a file of the managed policy. What is accepted never widens what `default` grants,
// nor a profile that grants more; what is refused says why in one line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/policy.h"
#include "profile/default_profile.h"
#include "profile/managed.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

template <typename T>
bool is_lower(const std::optional<T>& narrowed, const std::optional<T>& whole) {
  return !whole || (narrowed && *narrowed <= *whole);
}

void never_widens(const sbx::Profile& profile, const sbx::ManagedFile& file) {
  sbx::PolicyContext context{"/home/ann/work", "/home/ann"};
  const auto whole = sbx::make_policy(profile, {}, context);
  must(whole.ok());
  context.managed = {file};
  const auto narrowed = sbx::make_policy(profile, {}, context);
  if (!narrowed.ok()) {
    must(narrowed.error().code == sbx::ErrorCode::kManagedPolicy);
    return;
  }
  const sbx::SandboxPolicy& less = narrowed.value().sandbox;
  const sbx::SandboxPolicy& more = whole.value().sandbox;
  must(less.network.mode <= more.network.mode);
  must(is_lower(less.limits.pids, more.limits.pids));
  must(is_lower(less.limits.memory_mb, more.limits.memory_mb));
  must(is_lower(less.file_bytes, more.file_bytes));
  must(is_lower(narrowed.value().run.limits.timeout_ms, whole.value().run.limits.timeout_ms));
  must(less.filesystem == more.filesystem && less.maxima == file.filesystem.max);
  for (int i = 0; i < sbx::kLayerCount; ++i) {
    const auto layer = static_cast<sbx::Layer>(i);
    const bool is_required = less.isolation.require.has(layer);
    must(is_required || !more.isolation.require.has(layer));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = sbx::parse_managed(text, "/etc/sbx/managed.d/fuzz.json");
  if (!file.ok()) {
    must(file.error().code == sbx::ErrorCode::kManagedPolicy);
    must(file.error().message.find("fuzz.json") != std::string::npos);
    return 0;
  }
  never_widens(sbx::default_profile(), file.value());
  sbx::Profile wide = sbx::default_profile();
  wide.network.mode = sbx::NetworkMode::kOutbound;
  wide.limits = {};
  wide.filesystem.roots = {{"/", sbx::Access::kReadWrite, false, ""},
                           {"/srv/a", sbx::Access::kReadOnly, false, ""}};
  never_widens(wide, file.value());
  return 0;
}
