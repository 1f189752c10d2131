// SPDX-License-Identifier: Apache-2.0
// A byte for the machine, then a profile: every profile that is accepted gives either a plan that
// keeps the order rules and every required layer, or a plain refusal. The machine is made up; no
// file is read.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "json/check.h"
#include "json/reader.h"
#include "plan/sample_plan.h"
#include "profile/decode.h"
#include "profile/fields.h"
#include "profile/store.h"
#include "support/dump_plan.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

// The profile over `default`, whatever parent it names: nullopt where it is not accepted.
std::optional<sbx::Profile> accepted(std::string_view text) {
  const auto child = sbx::read_json_strict(text);
  if (!child.ok() || !sbx::check_fields(child.value(), sbx::kProfileSpec, "").empty()) {
    return std::nullopt;
  }
  sbx::Profile profile = sbx::load_profile("default", {}).value().profile;
  if (!sbx::apply_document(child.value(), profile).empty()) return std::nullopt;
  sbx::settle(profile);
  return profile;
}

void set_machine(sbx::HostFacts& facts, unsigned bits) {
  if ((bits & 1) != 0) sbx::testing::take_namespaces(facts);
  if ((bits & 2) != 0) facts.landlock_abi = 1;
  if ((bits & 4) != 0) facts.seccomp_notify = false;
  if ((bits & 8) != 0) facts.proc_mountable = false;
  if ((bits & 16) != 0) facts.uid = 0;
  if ((bits & 32) != 0) facts.cgroup.base = "/sys/fs/cgroup/user";
  if ((bits & 64) != 0) {
    facts.landlock_abi = 0;
    facts.obstacles[static_cast<std::size_t>(sbx::Layer::kLandlock)] = {"absent", "", 38};
  }
  if ((bits & 128) != 0) {
    facts.obstacles[static_cast<std::size_t>(sbx::Layer::kSeccomp)] = {"absent", "", 22};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  auto profile = accepted({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!profile) return 0;
  auto sample = sbx::testing::sample_of(std::move(*profile));
  if (!sample.ok()) return 0;  // a path that the policy refuses
  set_machine(sample.value().facts, data[0]);
  const auto plan = sample.value().plan();
  if (!plan.ok()) {
    must(plan.error().code != sbx::ErrorCode::kInternal && !plan.error().message.empty());
    return 0;
  }
  must(sbx::check_plan(plan.value()).ok());
  const sbx::IsolationProfile& isolation = sample.value().policy.sandbox.isolation;
  for (int i = 0; i < sbx::kLayerCount; ++i) {
    const auto layer = static_cast<sbx::Layer>(i);
    must(!isolation.require.has(layer) || plan.value().wanted.has(layer));
    must(!plan.value().wanted.has(layer) || !sample.value().facts.obstacle(layer).present());
  }
  must(!sbx::dump_plan(plan.value()).empty());
  return 0;
}
