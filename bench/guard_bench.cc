// SPDX-License-Identifier: Apache-2.0
// guard_bench: microseconds that reading a command takes, for typical commands, and for texts of
// 1 MiB that are made to be slow. Prints a Markdown table; touches nothing.
#include <chrono>
#include <cstdio>
#include <string>

#include "guard/reading.h"

namespace {

constexpr int kRounds = 2000;
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

double microseconds(const std::string& text, int rounds) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t commands = 0;
  for (int i = 0; i < rounds; ++i) commands += sbx::read_shell(text).commands.size();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  return commands == static_cast<std::size_t>(-1) ? 0 : took.count() / rounds;
}

std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
    if (c == '|') c = '/';
  }
  return text;
}

}  // namespace

int main() {
  std::printf("| microseconds | command |\n|---:|---|\n");
  for (const char* text : kTypical) {
    std::printf("| %.1f | `%s` |\n", microseconds(text, kRounds), on_one_line(text).c_str());
  }
  std::printf("\n| milliseconds | 1 MiB of |\n|---:|---|\n");
  for (const char* unit : kHostile) {
    std::string text;
    while (text.size() < kLarge) text += unit;
    std::printf("| %.0f | `%s` |\n", microseconds(text, 1) / 1000, on_one_line(unit).c_str());
    std::fflush(stdout);
  }
  return 0;
}
