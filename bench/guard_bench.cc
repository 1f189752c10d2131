// SPDX-License-Identifier: Apache-2.0
// guard_bench [VERDICTS]: microseconds that a verdict takes, reading included: for the commands of
// the tests' table, for typical ones, and for texts of 1 MiB that are made to be slow to read.
// Prints Markdown tables; touches nothing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "guard/verdict_table.h"
#include "shell/reading.h"

namespace {

constexpr int kRounds = 2000;
constexpr int kTableRounds = 200;
constexpr std::size_t kLarge = 1u << 20;

constexpr const char* kTypical[] = {
    "ls -la",
    "git status --short && git diff --stat HEAD~1",
    "cd build && cmake .. -DCMAKE_BUILD_TYPE=Release && make -j4 2>&1 | tail -20",
    "find . -name '*.py' -not -path './venv/*' -exec grep -ln 'import os' {} + | head",
    "for f in src/*.cc; do clang-format -i \"$f\"; done; git diff --stat",
    "bash -lc 'set -euo pipefail; source venv/bin/activate; pytest -q tests 2>&1 | tee log.txt'",
    "cat > notes.md <<'EOF'\n# Title\n- one\n- two\nEOF\nwc -l notes.md",
    "X=$(git rev-parse HEAD); echo \"at ${X:0:8}\"; [ -n \"$X\" ] && env A=1 timeout 10 make test",
};
constexpr const char* kHostile[] = {"(",    "`",      "$(",    "{",    "<<a ",  "\\",
                                    "((\n", "a|",     "a&&",   "env ", "eval ", "X=$X$X;",
                                    "{a,",  "sh -c ", "<<a\n", "a[",   "[[ ",   ";a"};

std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
    if (c == '|') c = '/';
  }
  return text;
}

// What `work` gives is added up, so that none of it can be left out.
template <typename Work>
double microseconds(int rounds, Work work) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t sum = 0;
  for (int i = 0; i < rounds; ++i) sum += work();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  return sum == static_cast<std::size_t>(-1) ? 0 : took.count() / rounds;
}

double to_read(const std::string& text, int rounds) {
  return microseconds(rounds, [&] { return sbx::shell::read_shell(text).commands.size(); });
}

double to_judge(const sbx::Policy& policy, const std::string& text, int rounds) {
  sbx::Request request;
  request.command = text;
  return microseconds(rounds,
                      [&] { return sbx::guard::judge(policy, request).value().findings.size(); });
}

double part_of(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * part)];
}

// Each row many times in a row: the median over the rows, and the slowest.
void measure_table(const std::string& path) {
  const std::map<std::string, sbx::Policy> policies = sbx::verdict_policies();
  std::map<std::string, std::vector<double>> costs;
  double slowest = 0;
  std::string slowest_command;
  for (const sbx::VerdictRow& row : sbx::read_verdicts(path)) {
    const double cost = to_judge(policies.at(row.policy), row.command, kTableRounds);
    costs[row.policy].push_back(cost);
    costs["all"].push_back(cost);
    if (cost <= slowest) continue;
    slowest = cost;
    slowest_command = row.command;
  }
  std::printf(
      "| policy | commands | median us | p90 us | slowest us |\n|---|---:|---:|---:|---:|\n");
  for (auto& [name, values] : costs) {
    std::sort(values.begin(), values.end());
    std::printf("| %s | %zu | %.1f | %.1f | %.1f |\n", name.c_str(), values.size(),
                part_of(values, 0.5), part_of(values, 0.9), values.back());
  }
  std::printf("\nThe slowest: `%s`\n\n", on_one_line(slowest_command).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) measure_table(argv[1]);
  const sbx::Policy policy = sbx::sample_policy();
  std::printf("| reading us | verdict us | command |\n|---:|---:|---|\n");
  for (const char* text : kTypical) {
    std::printf("| %.1f | %.1f | `%s` |\n", to_read(text, kRounds), to_judge(policy, text, kRounds),
                on_one_line(text).c_str());
  }
  std::printf("\n| milliseconds | 1 MiB of |\n|---:|---|\n");
  for (const char* unit : kHostile) {
    std::string text;
    while (text.size() < kLarge) text += unit;
    std::printf("| %.0f | `%s` |\n", to_read(text, 1) / 1000, on_one_line(unit).c_str());
    std::fflush(stdout);
  }
  return 0;
}
