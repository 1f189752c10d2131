// SPDX-License-Identifier: Apache-2.0
// Made in advance, checked when taken, thrown away when stale.
#include "session/warm_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "base/files.h"
#include "launch/handover.h"

namespace sbx {
namespace {

// The waiting process receives three descriptors more than it has.
constexpr std::int64_t kFewestOpenFiles = 32;

// Under load nobody refills: beyond this many they are let go at once. Each holds some ten
// descriptors.
constexpr std::size_t kMostWaiting = 2;

bool can_wait(const Policy& policy, const HostFacts& facts) {
  const LayerSet& namespaces = policy.sandbox.isolation.namespaces;
  return namespaces.has(Layer::kMount) && namespaces.has(Layer::kPid) &&
         !facts.obstacle(Layer::kMount).present() && !facts.obstacle(Layer::kPid).present() &&
         policy.sandbox.limits.open_files.value_or(kFewestOpenFiles) >= kFewestOpenFiles &&
         policy.run.workspace.mode == WorkspaceMode::kPersistent;
}

// Or has lost a placement, for however short a time.
bool is_spent(const Spawned& spawned) {
  // PID 1 stays a while when the process that waits for the command has been ended.
  return spawned.state->failed_step.load() != 0 || spawned.state->ended.load() != 0 ||
         spawned.state->loss_count.load() != 0 || is_ready(spawned.pidfd.get(), POLLIN);
}

}  // namespace

WarmPool::WarmPool(SharedPolicy policy, HostFacts facts, Environment inherited, std::size_t size,
                   const KeptLayer* layer)
    : policy_(std::move(policy)),
      facts_(std::move(facts)),
      inherited_(std::move(inherited)),
      environment_(make_environment(*policy_, inherited_, facts_.user_name)),
      size_(size),
      layer_(layer),
      has_patterns_(has_patterns(*policy_)),
      is_broken_(!can_wait(*policy_, facts_)) {
  choose_cgroup(*policy_, facts_);
}

WarmPool::~WarmPool() = default;

SandboxInput WarmPool::own_input(const Request& request) {
  SandboxInput input{*policy_, request, facts_, inherited_, environment_};
  input.awaits_command = true;
  input.layer = layer_;
  return input;
}

bool WarmPool::fits(const SandboxInput& wanted) const {
  const SandboxPolicy& mine = policy_->sandbox;
  const bool is_mine = &wanted.policy == policy_.get() || wanted.policy.sandbox == mine;
  const Result<std::string> cwd = request_cwd(wanted.policy, wanted.request);
  return !wanted.use_pty && !wanted.report_execs && wanted.named.empty() && is_mine && cwd.ok() &&
         is_below(cwd.value(), mine.workspace) &&
         (mine.filesystem.base != Base::kTools || wanted.request.argv.empty());
}

bool WarmPool::is_current(const SandboxInput& wanted) {
  const View& then = pattern_->view;
  if (layer_ != nullptr && !(then.layer == layer_->view())) return false;
  const std::string path = search_path(wanted);
  if (pattern_->search_path == path && pattern_->witnesses.are_unchanged()) {
    const Result<View> now = inspect_roots(wanted.policy, wanted.expansions);
    return now.ok() && now.value().roots == then.roots && now.value().protects == then.protects &&
           now.value().git_denied == then.git_denied && now.value().caches == then.caches &&
           now.value().patterns == then.patterns && now.value().home == then.home;
  }
  Witnesses witnesses;
  const Result<View> now = look_at_files(wanted, &witnesses);
  if (!now.ok() || !(now.value() == then)) return false;
  pattern_->search_path = path;
  pattern_->witnesses = std::move(witnesses);
  return true;
}

std::unique_ptr<Sandbox> WarmPool::take(const SandboxInput& wanted) {
  if (is_broken_) return nullptr;
  if (!fits(wanted)) {
    if (layer_ != nullptr) drop();  // what runs now is not seen in it
    return nullptr;
  }
  if (pattern_ && !is_current(wanted)) {
    pattern_.reset();
    ready_.clear();
  }
  std::unique_ptr<Sandbox> taken;
  while (taken == nullptr && !ready_.empty()) {
    taken = std::move(ready_.front());
    ready_.pop_front();
    if (is_spent(*taken->spawned)) taken.reset();
  }
  if (taken == nullptr) {
    // By demand: where there is a pattern, that is half the work of planning one anew.
    Result<std::unique_ptr<Sandbox>> made = make(wanted.expansions);
    if (!made.ok()) return nullptr;
    taken = std::move(made).value();
  }
  const bool is_set = set_command(taken->plan, PlanInput{wanted.policy, wanted.request, facts_,
                                                         taken->view, wanted.environment})
                          .ok();
  return is_set && fits_handover(taken->plan) ? std::move(taken) : nullptr;
}

Result<std::unique_ptr<Sandbox>> WarmPool::make(Expansions* expansions) {
  const Request nothing;
  SandboxInput input = own_input(nothing);
  input.expansions = expansions;
  auto sandbox = std::make_unique<Sandbox>();
  if (pattern_) {
    sandbox->view = pattern_->view;
    sandbox->plan = pattern_->plan;
  } else {
    Witnesses witnesses;
    SBX_TRY(sandbox, plan_sandbox(input, &witnesses));
    pattern_.emplace(
        Pattern{sandbox->view, sandbox->plan, search_path(input), std::move(witnesses)});
  }
  SBX_CHECK_OK(prepare_sandbox(input, *sandbox));
  // What the command gets as 0, 1 and 2 comes with it.
  const OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  SBX_TRY(Spawned spawned, spawn(SpawnRequest{sandbox->plan, null.get(), null.get(), null.get(),
                                              sandbox->leftovers.cgroup_fd()}));
  sandbox->spawned.emplace(std::move(spawned));
  return sandbox;
}

void WarmPool::see_off(std::unique_ptr<Sandbox> sandbox, std::unique_ptr<Supervisor> supervisor) {
  supervisor->leave();
  leaving_.push_back({std::move(sandbox), std::move(supervisor)});
  if (leaving_.size() > kMostWaiting) let_go();
}

// Nobody waits for the kernel to take them apart.
void WarmPool::let_go() {
  std::erase_if(leaving_, [](const Leaving& leaving) {
    return leaving.was_let_go && leaving.supervisor->has_left();
  });
  for (Leaving& leaving : leaving_) {
    if (!leaving.was_let_go) leaving.supervisor->let_go();
    leaving.was_let_go = true;
  }
}

bool WarmPool::is_full() const {
  return is_broken_ || ready_.size() >= size_ || (has_patterns_ && !pattern_);
}

void WarmPool::refill() {
  let_go();
  if (is_full()) return;
  Result<std::unique_ptr<Sandbox>> made = make(nullptr);
  if (made.ok()) {
    ready_.push_back(std::move(made).value());
  } else {
    is_broken_ = true;
  }
}

}  // namespace sbx
