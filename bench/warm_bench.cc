// SPDX-License-Identifier: Apache-2.0
// warm_bench ROUNDS [NAME PROGRAM ARG... [--- NAME PROGRAM ARG...]...]: in one process, turn by
// turn: plain fork and exec of /bin/true, the same in a new sandbox, and in one that was made ready
// in advance (made again outside the measured time) → a Markdown table of medians and their ratios.
// Then how many such runs a second follow each other, what is made in advance included, beside
// those of the launchers that are given.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"
#include "profile/store.h"
#include "run/run.h"
#include "session/warm_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Contender {
  std::string name;
  std::function<bool()> run;
  std::function<void()> rest = [] {};  // between two of its runs
  std::vector<double> values;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

bool launch(std::vector<char*> argv) {
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const bool spawned =
      posix_spawnp(&pid, argv.front(), &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  return spawned && wait4(pid, &status, 0, nullptr) == pid && status == 0;
}

double median(std::vector<double> values) {
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

void print(const char* unit, const std::vector<Contender>& contenders, std::size_t base) {
  std::printf("| contender | %s | ratio |\n|---|---:|---:|\n", unit);
  for (const Contender& contender : contenders) {
    std::printf("| %s | %.2f | %.2f |\n", contender.name.c_str(), median(contender.values),
                median(contender.values) / median(contenders[base].values));
  }
  std::puts("");
}

// One run of each a round. The kernel frees network namespaces in one worker, and a sandbox that
// was just asked for is still being made: hence the pauses.
bool measure_times(std::vector<Contender>& contenders, std::int64_t rounds) {
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (Contender& contender : contenders) {
      pause();
      contender.rest();
      pause();
      const auto start = Clock::now();
      if (!contender.run()) return false;
      contender.values.push_back(milliseconds_since(start));
    }
  }
  return true;
}

// As many runs as fit into a tenth of a second, in turns.
bool measure_rates(std::vector<Contender>& contenders, std::int64_t turns) {
  for (std::int64_t i = 0; i < turns; ++i) {
    for (Contender& contender : contenders) {
      const auto start = Clock::now();
      int runs = 0;
      while (milliseconds_since(start) < 100) {
        if (!contender.run()) return false;
        contender.rest();
        ++runs;
      }
      contender.values.push_back(runs * 1000 / milliseconds_since(start));
    }
  }
  return true;
}

std::vector<Contender> read_launchers(int argc, char** argv) {
  std::vector<Contender> all;
  for (int i = 2; i < argc; ++i) {
    const char* const name = argv[i];
    std::vector<char*> words;
    while (++i < argc && std::string_view(argv[i]) != "---") words.push_back(argv[i]);
    if (!words.empty()) all.push_back({name, [words] { return launch(words); }, [] {}, {}});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t rounds = argc >= 2 ? sbx::parse_count(argv[1], 100'000).value_or(0) : 0;
  if (rounds == 0) {
    std::fputs("usage: warm_bench ROUNDS [NAME PROGRAM ARG... [--- NAME PROGRAM ARG...]...]\n",
               stderr);
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
  sbx::Request request;
  request.argv = {"/bin/true"};
  const auto sandboxed = [&](sbx::WarmPool* warm) {
    sbx::RunInput input{policy, request, facts, environment};
    input.is_alone = false;
    input.warm = warm;
    sbx::CommandRun run(std::move(input));
    return run.run().exit_code == 0;
  };
  char program[] = "/bin/true";
  const auto contenders = [&](sbx::WarmPool& pool) {
    return std::vector<Contender>{
        {"fork and exec alone", [&] { return launch({program}); }, [] {}, {}},
        {"a new sandbox", [&] { return sandboxed(nullptr); }, [] {}, {}},
        {"a warm sandbox", [&] { return sandboxed(&pool); }, [&] { pool.refill(); }, {}}};
  };
  sbx::WarmPool one(std::make_shared<const sbx::Policy>(policy), facts, environment, 1);
  std::vector<Contender> times = contenders(one);
  sbx::WarmPool some(std::make_shared<const sbx::Policy>(policy), facts, environment, 4);
  std::vector<Contender> rates = contenders(some);
  for (Contender& launcher : read_launchers(argc, argv)) rates.push_back(std::move(launcher));
  const bool measured = measure_times(times, rounds) && measure_rates(rates, rounds / 20 + 1);
  std::filesystem::remove_all(workspace);
  if (!measured) {
    std::fputs("warm_bench: a contender failed\n", stderr);
    return 1;
  }
  print("median ms", times, 0);
  print("runs/s", rates, 1);
  return 0;
}
