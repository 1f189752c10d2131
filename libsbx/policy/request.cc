// SPDX-License-Identifier: Apache-2.0
// One rule for every limit; then the network; then the variables.
#include "policy/request.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "json/field.h"
#include "policy/environment.h"

namespace sbx {
namespace {

using Limit = std::optional<std::int64_t>;

// The shared one until something is to be changed: then a copy.
class OwnPolicy {
 public:
  explicit OwnPolicy(const SharedPolicy& shared) : shared_(shared) {}

  const Policy& now() const { return own_ ? *own_ : *shared_; }
  Policy& edit() {
    if (!own_) own_ = std::make_shared<Policy>(*shared_);
    return *own_;
  }
  SharedPolicy take() { return own_ ? std::move(own_) : shared_; }

 private:
  const SharedPolicy& shared_;
  std::shared_ptr<Policy> own_;
};

// In the request's units: what no clock and no counter overflows with.
constexpr std::int64_t kMost = kUnbounded >> 12;

// `limit` and `ceiling` in `unit`s of the request's value. No limit: any value lowers it. No
// ceiling: the limit itself is the ceiling. A ceiling below the limit takes nothing away. `above`
// the ceiling only the managed policy holds it.
Status lower_or_raise(Limit& limit, const Limit& ceiling, std::int64_t wanted, std::int64_t unit,
                      const std::string& name, const RunPolicy& run, bool above) {
  const auto managed = run.managed_limits.find(name);
  const bool has_managed = managed != run.managed_limits.end();
  if (limit && (!above || has_managed)) {
    const std::int64_t highest = std::max(*limit, above     ? managed->second.most * unit
                                                  : ceiling ? *ceiling * unit
                                                            : 0);
    if (wanted > highest / unit) {
      // A limit that a flag set in bytes may lie between two values of the request's.
      const bool is_managed = has_managed && managed->second.most * unit <= highest;
      return Error{ErrorCode::kAboveCeiling,
                   name + " " + std::to_string(wanted) + " is above the ceiling of " +
                       std::to_string(highest / unit) +
                       (is_managed ? ", which " + managed->second.file + " sets" : ""),
                   "/" + name,
                   is_managed ? "ask for less: no profile raises it"
                              : "ask for less, or have the operator raise ceilings." + name};
    }
  }
  limit = std::min(wanted, kMost) * unit;
  return {};
}

Status apply_network(OwnPolicy& own, bool wanted) {
  const NetworkMode mode = own.now().sandbox.network.mode;
  if (wanted) {
    if (mode != NetworkMode::kNone) return {};
    return Error{ErrorCode::kNotGranted, "the profile grants no network", "/network",
                 std::string("the operator grants it with ") + std::string(kNetworkGrant)};
  }
  if (mode == NetworkMode::kNone && own.now().sandbox.network.host_ports.empty()) return {};
  SandboxPolicy& sandbox = own.edit().sandbox;
  sandbox.network.host_ports.clear();
  // Mode open shares the host's network namespace, which mode none must not.
  if (mode == NetworkMode::kOpen) sandbox.isolation.namespaces.add(Layer::kNet);
  sandbox.network.mode = NetworkMode::kNone;
  return {};
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

Status apply_env(EnvironmentProfile& environment, const std::map<std::string, std::string>& env) {
  if (!environment.request) {
    return Error{ErrorCode::kNotGranted, "the profile lets no request set variables", "/env",
                 "the operator grants it with environment.request = true"};
  }
  for (const auto& [name, value] : env) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return Error{ErrorCode::kBadValue, "not a variable: " + escape_control_bytes(name), "/env",
                   "names have no '=', and neither names nor values a NUL byte"};
    }
    if (is_never_settable(name)) {
      return Error{
          ErrorCode::kNotGranted,
          escape_control_bytes(name) + " changes what programs load or run: no request may set it",
          "/env/" + name, "the operator can, with environment.set"};
    }
    environment.set.try_emplace(name, value);  // the operator's own value wins
  }
  return {};
}

}  // namespace

Result<SharedPolicy> apply_request(const SharedPolicy& policy, const Request& request,
                                   TimeLimit unnamed) {
  // It is redacted, and told again and again.
  constexpr std::size_t kMostDescription = std::size_t{16} << 10;
  if (request.description && request.description->size() > kMostDescription) {
    return Error{ErrorCode::kTooLarge,
                 "the description has " + std::to_string(request.description->size()) +
                     " bytes, more than the " + std::to_string(kMostDescription) +
                     " that it may have",
                 "/description", "a few words are enough"};
  }
  OwnPolicy own(policy);
  const LimitsProfile& ceilings = policy->run.ceilings;
  if (request.timeout_ms) {
    SBX_CHECK_OK(lower_or_raise(own.edit().run.limits.timeout_ms, ceilings.timeout_ms,
                                *request.timeout_ms, 1, "timeout_ms", policy->run,
                                request.above_ceilings));
  } else if (unnamed != TimeLimit::kOfPolicy && policy->run.limits.timeout_ms) {
    const auto managed = policy->run.managed_limits.find("timeout_ms");
    const bool is_managed =
        unnamed == TimeLimit::kManaged && managed != policy->run.managed_limits.end();
    own.edit().run.limits.timeout_ms = is_managed ? Limit(managed->second.most) : std::nullopt;
  }
  if (request.output_kb) {
    SBX_CHECK_OK(lower_or_raise(own.edit().run.output_bytes, ceilings.output_kb, *request.output_kb,
                                1024, "output_kb", policy->run, request.above_ceilings));
  }
  if (request.file_kb) {
    SBX_CHECK_OK(lower_or_raise(own.edit().sandbox.file_bytes, ceilings.file_kb, *request.file_kb,
                                1024, "file_kb", policy->run, request.above_ceilings));
  }
  if (request.network) SBX_CHECK_OK(apply_network(own, *request.network));
  if (!request.env.empty()) SBX_CHECK_OK(apply_env(own.edit().run.environment, request.env));
  if (const auto cwd = request_cwd(*policy, request); !cwd.ok()) return cwd.error();
  return own.take();
}

Error named_by_request(Error error) {
  if (error.where != "--cwd") return error;
  error.where = "/cwd";
  error.hint =
      "name a directory that is there; the operator shows another by filesystem.roots in the "
      "profile";
  return error;
}

bool is_network_refusal(const Error& error) {
  return error.code == ErrorCode::kNotGranted && error.where == "/network";
}

}  // namespace sbx
