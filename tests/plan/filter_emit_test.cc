// SPDX-License-Identifier: Apache-2.0
// The emitter against a plain reading of its input, on random tables; and the evaluator that judges
// it, on programs that must be faulted.
#include "plan/filter_emit.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "support/bpf_eval.h"

namespace sbx {
namespace {

constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kForeign = SECCOMP_RET_KILL_PROCESS;

bool holds(const ArgCondition& condition, const seccomp_data& data) {
  const auto low = static_cast<std::uint32_t>(data.args[condition.arg]);
  return std::find(condition.values.begin(), condition.values.end(), low & condition.mask) !=
         condition.values.end();
}

std::uint32_t expected(const std::vector<CallRun>& runs, const seccomp_data& data) {
  if (data.arch != kArch) return kForeign;
  const auto after = std::find_if(runs.begin(), runs.end(), [&](const CallRun& run) {
    return run.first > static_cast<std::uint32_t>(data.nr);
  });
  const CallRun& run = *(after - 1);
  if (run.check == nullptr) return run.ret;
  for (const ArgRule& rule : run.check->rules) {
    const bool applies = std::all_of(rule.conditions.begin(), rule.conditions.end(),
                                     [&](const auto& condition) { return holds(condition, data); });
    if (applies) return rule.ret;
  }
  return run.check->otherwise;
}

class RandomTable {
 public:
  RandomTable(unsigned seed, std::size_t most_runs) : random_(seed) {
    for (unsigned i = 0; i < 6; ++i) checks_.push_back(check());
    std::set<std::uint32_t> firsts = {0};
    const std::size_t wanted = 1 + below(static_cast<std::uint32_t>(most_runs));
    while (firsts.size() < wanted) firsts.insert(below(8) == 0 ? any() : below(5000));
    for (const std::uint32_t first : firsts) {
      runs_.push_back({first, ret(), below(3) == 0 ? &checks_[below(6)] : nullptr});
    }
  }

  const std::vector<CallRun>& runs() const { return runs_; }

  seccomp_data data() {
    seccomp_data data{};
    data.arch = below(50) == 0 ? any() : kArch;
    data.nr = static_cast<int>(runs_[below(static_cast<std::uint32_t>(runs_.size()))].first +
                               below(3) - 1);
    for (auto& arg : data.args) arg = (std::uint64_t{any()} << 32) | word();
    return data;
  }

 private:
  std::uint32_t any() { return static_cast<std::uint32_t>(random_()); }
  std::uint32_t below(std::uint32_t bound) { return any() % bound; }
  std::uint32_t word() { return below(6) == 0 ? any() : below(5); }
  std::uint32_t ret() { return SECCOMP_RET_ERRNO | below(40); }

  ArgCheck check() {
    ArgCheck made;
    made.otherwise = ret();
    for (std::uint32_t rules = below(4); rules > 0; --rules) {
      ArgRule rule;
      rule.ret = ret();
      for (std::uint32_t conditions = below(4); conditions > 0; --conditions) {
        ArgCondition condition;
        condition.arg = static_cast<std::uint8_t>(below(6));
        if (below(2) == 0) condition.mask = word();
        for (std::uint32_t values = below(40); values > 0; --values) {
          condition.values.push_back(word());
        }
        rule.conditions.push_back(condition);
      }
      made.rules.push_back(rule);
    }
    return made;
  }

  std::mt19937 random_;
  std::deque<ArgCheck> checks_;
  std::vector<CallRun> runs_;
};

void compare_with_a_plain_reading(unsigned seed, std::size_t most_runs) {
  RandomTable table(seed, most_runs);
  const auto program = emit_filter(kArch, kForeign, table.runs());
  ASSERT_EQ(bpf_fault(program), "") << "seed " << seed;
  for (int i = 0; i < 400; ++i) {
    const seccomp_data data = table.data();
    const BpfOutcome outcome = evaluate_bpf(program, data);
    ASSERT_EQ(outcome.fault, "") << "seed " << seed;
    ASSERT_EQ(outcome.ret, expected(table.runs(), data))
        << "seed " << seed << " nr " << data.nr << " arch " << data.arch;
  }
}

TEST(FilterEmit, AgreesWithAPlainReadingOfSmallTables) {
  for (unsigned seed = 0; seed < 400; ++seed) compare_with_a_plain_reading(seed, 12);
}

TEST(FilterEmit, AgreesWithAPlainReadingOfTablesBeyondAJumpsReach) {
  for (unsigned seed = 0; seed < 150; ++seed) compare_with_a_plain_reading(seed, 900);
}

TEST(FilterEmit, DecidesEveryNumberAroundEveryBoundary) {
  RandomTable table(7, 900);
  const auto program = emit_filter(kArch, kForeign, table.runs());
  seccomp_data data{};
  data.arch = kArch;
  for (const CallRun& run : table.runs()) {
    for (const std::uint32_t step : {0xffffffffU, 0U, 1U}) {
      data.nr = static_cast<int>(run.first + step);
      ASSERT_EQ(evaluate_bpf(program, data).ret, expected(table.runs(), data)) << data.nr;
    }
  }
}

TEST(FilterEmit, EmitsASharedCheckOnce) {
  const ArgCheck check{{{{{0, 0xffffffffU, {1, 2, 3}}}, SECCOMP_RET_ALLOW}}, kForeign};
  const std::vector<CallRun> one = {{0, 5, nullptr}, {10, 0, &check}};
  const std::vector<CallRun> two = {
      {0, 5, nullptr}, {10, 0, &check}, {11, 5, nullptr}, {12, 0, &check}};
  EXPECT_EQ(emit_filter(kArch, kForeign, two).size(), emit_filter(kArch, kForeign, one).size() + 2);
}

TEST(FilterEmit, ReachesAnEntryThatIsNotTheInstructionAfterTheLoad) {
  const ArgCheck check{{{{}, 7}, {{{0, 0xffffffffU, {1}}}, 8}}, 7};
  const auto program = emit_filter(kArch, kForeign, std::vector<CallRun>{{0, 0, &check}});
  ASSERT_EQ(bpf_fault(program), "");
  seccomp_data data{};
  data.arch = kArch;
  for (data.args[0] = 0; data.args[0] < 3; ++data.args[0]) {
    EXPECT_EQ(evaluate_bpf(program, data).ret, 7U) << data.args[0];
  }
}

std::vector<sock_filter> valid_program() {
  return {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
          {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 39},
          {BPF_RET | BPF_K, 0, 0, 1},
          {BPF_RET | BPF_K, 0, 0, 2}};
}

TEST(BpfEval, FollowsBothArmsOfABranch) {
  seccomp_data data{};
  data.nr = 39;
  EXPECT_EQ(evaluate_bpf(valid_program(), data), (BpfOutcome{"", 1, 3}));
  data.nr = 40;
  EXPECT_EQ(evaluate_bpf(valid_program(), data), (BpfOutcome{"", 2, 3}));
  EXPECT_EQ(bpf_fault(valid_program()), "");
}

TEST(BpfEval, FaultsWhatTheKernelWouldNotLoad) {
  const std::vector<std::pair<sock_filter, const char*>> faults = {
      {{BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 39}, "jumps out"},
      {{BPF_JMP | BPF_JEQ | BPF_K, 0, 255, 39}, "jumps out"},
      {{BPF_JMP | BPF_JA, 0, 0, 2}, "jumps out"},
      {{BPF_JMP | BPF_JA, 0, 0, 0xffffffffU}, "jumps out"},
      {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 2}, "unaligned"},
      {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 64}, "outside"},
      {{BPF_LD | BPF_B | BPF_ABS, 0, 0, 0}, "unknown"},
      {{BPF_ST, 0, 0, 0}, "unknown"}};
  for (const auto& [instruction, what] : faults) {
    auto program = valid_program();
    program[1] = instruction;
    EXPECT_NE(bpf_fault(program).find(what), std::string::npos) << what;
    EXPECT_NE(evaluate_bpf(program, {}).fault.find(what), std::string::npos) << what;
  }
}

TEST(BpfEval, FaultsAnEndThatCanBeFallenOff) {
  auto program = valid_program();
  program[3] = {BPF_LD | BPF_W | BPF_ABS, 0, 0, 4};
  EXPECT_NE(bpf_fault(program).find("falls off"), std::string::npos);
  EXPECT_NE(evaluate_bpf(program, {}).fault.find("falls off"), std::string::npos);
  EXPECT_EQ(bpf_fault({}), "empty program");
  EXPECT_EQ(evaluate_bpf({}, {}).fault, "empty program");
}

TEST(BpfEval, FaultsAProgramBeyondTheKernelsLimit) {
  std::vector<sock_filter> program(BPF_MAXINSNS, sock_filter{BPF_RET | BPF_K, 0, 0, 7});
  EXPECT_EQ(bpf_fault(program), "");
  program.push_back(program.back());
  EXPECT_EQ(bpf_fault(program), "too many instructions");
  EXPECT_EQ(evaluate_bpf(program, {}).fault, "too many instructions");
}

TEST(BpfEval, FaultsATestOfWhatWasNeverLoaded) {
  auto program = valid_program();
  program[0] = {BPF_JMP | BPF_JA, 0, 0, 0};
  EXPECT_NE(evaluate_bpf(program, {}).fault.find("never loaded"), std::string::npos);
}

}  // namespace
}  // namespace sbx
