// SPDX-License-Identifier: Apache-2.0
// warm_bench: in one process, turn by turn: plain fork and exec of /bin/true, the same in a new
// sandbox, and in one that was made ready in advance (made again outside the measured time) → a
// Markdown table of medians and their ratios.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "profile/store.h"
#include "session/run.h"
#include "session/warm_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(const std::function<bool()>& work) {
  const auto start = Clock::now();
  const bool worked = work();
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  return worked ? took.count() : -1;
}

bool plain() {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  char program[] = "/bin/true";
  std::array<char*, 2> argv = {program, nullptr};
  const bool spawned = posix_spawn(&pid, program, &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  return spawned && wait4(pid, &status, 0, nullptr) == pid && status == 0;
}

double median(std::vector<double> values) {
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t rounds = argc == 2 ? sbx::parse_count(argv[1], 100'000).value_or(0) : 0;
  if (rounds == 0) {
    std::fputs("usage: warm_bench ROUNDS\n", stderr);
    return 2;
  }
  char workspace[] = "/tmp/sbx-warm-bench-XXXXXX";
  if (mkdtemp(workspace) == nullptr) return 1;
  sbx::Result<sbx::LoadedProfile> loaded = sbx::load_profile("default", sbx::ProfileSearch{});
  if (!loaded.ok()) return 1;
  sbx::PolicyContext context;
  context.workspace = workspace;
  sbx::Result<sbx::Policy> made =
      sbx::make_policy(loaded.value().profile, sbx::OperatorFlags{}, context);
  if (!made.ok()) return 1;
  const sbx::Policy policy = std::move(made).value();
  const sbx::Environment environment = {{"PATH", "/usr/bin:/bin"}};
  const sbx::HostFacts facts = sbx::read_quick_facts(nullptr);
  sbx::WarmPool pool(policy, facts, environment, 1);
  sbx::Request request;
  request.argv = {"/bin/true"};
  const auto sandboxed = [&](sbx::WarmPool* warm) {
    sbx::RunInput input{policy, request, facts, environment};
    input.is_alone = false;
    input.warm = warm;
    sbx::CommandRun run(std::move(input));
    return run.run().exit_code == 0;
  };
  std::array<std::vector<double>, 3> times;
  for (std::int64_t i = 0; i < rounds; ++i) {
    // The kernel frees network namespaces in one worker, and a sandbox that was just asked for is
    // still being made.
    const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
    times[0].push_back(milliseconds(plain));
    rest();
    times[1].push_back(milliseconds([&] { return sandboxed(nullptr); }));
    rest();
    pool.refill();
    rest();
    times[2].push_back(milliseconds([&] { return sandboxed(&pool); }));
    rest();
  }
  std::filesystem::remove_all(workspace);
  std::puts("| contender | median ms | ratio |\n|---|---:|---:|");
  constexpr std::array kNames = {"fork and exec alone", "a new sandbox", "a warm sandbox"};
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (*std::min_element(times[i].begin(), times[i].end()) < 0) return 1;
    std::printf("| %s | %.2f | %.2f |\n", kNames[i], median(times[i]),
                median(times[i]) / median(times[0]));
  }
  return 0;
}
