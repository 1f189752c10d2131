// SPDX-License-Identifier: Apache-2.0
// launch_bench: command lines → a Markdown table of how long their whole processes take, from
// posix_spawn to wait4, and how often they touch a page for the first time (page faults, of all
// their processes). The contenders take turns within each round, the first one changing, so
// that a slow moment of the machine hits all of them alike; ratios are taken pair by pair too.
// Touches nothing but the processes that it starts; their output goes to /dev/null.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace {

constexpr const char* kUsage =
    "usage: launch_bench ROUNDS PAUSE_MS NAME PROGRAM ARG... [--- NAME PROGRAM ARG...]...\n"
    "The first contender is what the others are compared with. PAUSE_MS lies between launches, "
    "for\n"
    "the kernel's one worker that frees network namespaces.\n";
constexpr std::int64_t kMaxRounds = 100000;
constexpr std::int64_t kMaxPauseMs = 1000;
constexpr int kWarmUpRounds = 3;

struct Contender {
  std::string name;
  std::vector<char*> argv;  // of main's own, nullptr at the end
  std::vector<double> milliseconds;
  std::vector<double> faults;
};

// Milliseconds, or a negative number when the program could not be run or failed.
double time_once(const Contender& contender, const posix_spawn_file_actions_t& actions,
                 struct rusage& usage) {
  const auto start = std::chrono::steady_clock::now();
  pid_t pid = -1;
  if (posix_spawnp(&pid, contender.argv[0], &actions, nullptr, contender.argv.data(), environ) != 0)
    return -1;
  int status = 0;
  if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return -1;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

double quantile(std::vector<double> values, double part) {
  const auto nth = values.begin() + std::lround(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

std::vector<double> pairwise_ratios(const Contender& contender, const Contender& base) {
  std::vector<double> ratios(base.milliseconds.size());
  std::transform(contender.milliseconds.begin(), contender.milliseconds.end(),
                 base.milliseconds.begin(), ratios.begin(),
                 [](double value, double reference) { return value / reference; });
  return ratios;
}

void print_table(const std::vector<Contender>& contenders) {
  const Contender& base = contenders.front();
  const double base_median = quantile(base.milliseconds, 0.5);
  std::printf(
      "| contender | median ms | p10 – p90 | ratio of medians | pairwise ratio (p10 – p90) | page "
      "faults |\n|---|---:|---:|---:|---:|---:|\n");
  for (const Contender& contender : contenders) {
    const double median = quantile(contender.milliseconds, 0.5);
    const std::vector<double> ratios = pairwise_ratios(contender, base);
    std::printf("| %s | %.2f | %.2f – %.2f | %.2f | %.2f (%.2f – %.2f) | %.0f |\n",
                contender.name.c_str(), median, quantile(contender.milliseconds, 0.1),
                quantile(contender.milliseconds, 0.9), median / base_median, quantile(ratios, 0.5),
                quantile(ratios, 0.1), quantile(ratios, 0.9), quantile(contender.faults, 0.5));
  }
}

std::vector<Contender> parse_contenders(char** arg) {
  std::vector<Contender> contenders;
  while (*arg != nullptr) {
    Contender contender;
    contender.name = *arg++;
    while (*arg != nullptr && std::strcmp(*arg, "---") != 0) contender.argv.push_back(*arg++);
    if (contender.argv.empty()) return {};
    contender.argv.push_back(nullptr);
    contenders.push_back(std::move(contender));
    if (*arg != nullptr) ++arg;
  }
  return contenders;
}

// False when a contender failed; the message is on stderr.
bool run_rounds(std::vector<Contender>& contenders, std::int64_t rounds, std::int64_t pause_ms) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  bool ok = true;
  for (std::int64_t round = -kWarmUpRounds; ok && round < rounds; ++round) {
    for (std::size_t i = 0; ok && i < contenders.size(); ++i) {
      const auto turn = static_cast<std::size_t>(round + kWarmUpRounds) + i;
      Contender& contender = contenders[turn % contenders.size()];
      struct rusage usage {};
      const double took = time_once(contender, actions, usage);
      ok = took >= 0;
      if (!ok) std::fprintf(stderr, "launch_bench: %s failed\n", contender.name.c_str());
      if (round >= 0) {
        contender.milliseconds.push_back(took);
        contender.faults.push_back(static_cast<double>(usage.ru_minflt));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
  }
  posix_spawn_file_actions_destroy(&actions);
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = argc > 4 ? sbx::parse_count(argv[1], kMaxRounds) : std::nullopt;
  const auto pause_ms = argc > 4 ? sbx::parse_count(argv[2], kMaxPauseMs) : std::nullopt;
  std::vector<Contender> contenders =
      argc > 4 ? parse_contenders(argv + 3) : std::vector<Contender>();
  if (rounds.value_or(0) < 1 || !pause_ms || contenders.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!run_rounds(contenders, *rounds, *pause_ms)) return 1;
  print_table(contenders);
  return 0;
}
