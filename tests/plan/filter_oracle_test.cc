// SPDX-License-Identifier: Apache-2.0
// libseccomp as the oracle: the same policy built through its rules and exported as BPF; both
// programs are evaluated for every call and argument case and must agree. The checks' rules are
// written again here in libseccomp's terms, apart from filter_checks.cc.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plan/filter_harness.h"
#include "plan/filter_tables.h"

namespace sbx {
namespace {

constexpr std::uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);
constexpr std::uint32_t kUnknown = SCMP_ACT_ERRNO(ENOSYS);

class Oracle {
 public:
  explicit Oracle(std::uint32_t otherwise, std::uint32_t foreign = SCMP_ACT_KILL_PROCESS)
      : context_(seccomp_init(otherwise)) {
    EXPECT_NE(context_, nullptr);
    EXPECT_EQ(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, foreign), 0);
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() { seccomp_release(context_); }

  void add(std::uint32_t action, int number, const std::vector<scmp_arg_cmp>& when = {}) {
    EXPECT_EQ(seccomp_rule_add_array(context_, action, number, static_cast<unsigned>(when.size()),
                                     when.data()),
              0)
        << number;
  }

  std::vector<sock_filter> program() const {
    const int fd = memfd_create("filter", MFD_CLOEXEC);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(seccomp_export_bpf(context_, fd), 0);
    const off_t bytes = lseek(fd, 0, SEEK_END);
    std::vector<sock_filter> program(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
    EXPECT_EQ(pread(fd, program.data(), static_cast<std::size_t>(bytes), 0), bytes);
    close(fd);
    EXPECT_EQ(bpf_fault(program), "");
    return program;
  }

 private:
  scmp_filter_ctx context_;
};

// (low 32 bits of the argument & mask) == value
scmp_arg_cmp low(unsigned arg, std::uint32_t mask, std::uint32_t value) {
  return {arg, SCMP_CMP_MASKED_EQ, mask, value};
}

scmp_arg_cmp low(unsigned arg, std::uint32_t value) { return low(arg, 0xffffffffU, value); }

bool is_strict(const FilterSpec& spec) { return spec.mode == SeccompMode::kStrict; }
bool grants_namespaces(const FilterSpec& spec) {
  return spec.allow_user_namespaces && !is_strict(spec);
}

// What a rule without arguments says, nullopt for one that looks at them.
std::optional<std::uint32_t> plain_action(CallRule rule, const FilterSpec& spec) {
  const auto allow_if = [](bool allowed) { return allowed ? SCMP_ACT_ALLOW : kRefuse; };
  switch (rule) {
    case CallRule::kAllow:
      return SCMP_ACT_ALLOW;
    case CallRule::kCheckOwnerInArg1:
    case CallRule::kCheckPathOwnerInArg1:
    case CallRule::kCheckPathOwnerInArg2:
      if (spec.own_ids) return std::nullopt;
      return SCMP_ACT_ALLOW;
    case CallRule::kDefaultOnly:
      return allow_if(!is_strict(spec));
    case CallRule::kIpc:
      return allow_if(!is_strict(spec) && spec.ipc_namespace);
    case CallRule::kCrossProcess:
      return allow_if(!is_strict(spec) && spec.pid_namespace);
    case CallRule::kNamespaces:
      return allow_if(grants_namespaces(spec));
    case CallRule::kRefuse:
      return kRefuse;
    case CallRule::kAbsent:
      return kUnknown;
    case CallRule::kNestedPath:
      return grants_namespaces(spec) ? SCMP_ACT_ALLOW : kUnknown;
    default:
      return std::nullopt;
  }
}

void expect_agreement(const CompiledFilter& filter, const std::vector<sock_filter>& oracle,
                      const seccomp_data& data, const std::string& what) {
  const BpfOutcome ours = evaluate_bpf(filter.program, data);
  const BpfOutcome theirs = evaluate_bpf(oracle, data);
  ASSERT_EQ(ours.fault, "");
  ASSERT_EQ(theirs.fault, "");
  ASSERT_EQ(action_of_ret(ours.ret), action_of_ret(theirs.ret))
      << what << ": nr " << data.nr << " arch " << data.arch << " args " << std::hex << data.args[0]
      << " " << data.args[1] << " " << data.args[2] << " " << data.args[3];
}

std::set<int> checked_numbers() {
  std::set<int> numbers;
  for (const CallGroup& group : call_groups()) {
    if (plain_action(group.rule, {})) continue;
    for (const Call& call : group.calls) numbers.insert(call.number);
  }
  return numbers;
}

TEST(FilterOracle, AgreesWithLibseccompOnEveryNumberUnderEverySpec) {
  const std::set<int> checked = checked_numbers();
  for (const FilterSpec& spec : every_spec()) {
    Oracle oracle(kUnknown, spec.notify_refused ? SCMP_ACT_NOTIFY : SCMP_ACT_KILL_PROCESS);
    for (const CallGroup& group : call_groups()) {
      const auto action = plain_action(group.rule, spec);
      if (!action || *action == kUnknown) continue;
      for (const Call& call : group.calls) oracle.add(*action, call.number);
    }
    const auto program = oracle.program();
    const CompiledFilter filter = compiled(spec);
    seccomp_data data{};
    for (const std::uint32_t arch :
         {filter.audit_arch, std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_ARM}, 0U}) {
      data.arch = arch;
      for (std::int64_t number = -3; number <= 600; ++number) {
        data.nr = static_cast<int>(number);
        if (checked.count(data.nr) != 0) continue;
        ASSERT_NO_FATAL_FAILURE(expect_agreement(filter, program, data, describe(spec)));
#if defined(__x86_64__)
        data.nr = static_cast<int>(number) | 0x40000000;
        ASSERT_NO_FATAL_FAILURE(expect_agreement(filter, program, data, describe(spec)));
#endif
      }
    }
  }
}

TEST(FilterOracle, NotificationChangesNothingButTheAnswerOfRefusedAndForeignCalls) {
  std::mt19937 random(7);
  for (FilterSpec spec : every_spec()) {
    if (!spec.notify_refused) continue;
    const CompiledFilter notifying = compiled(spec);
    spec.notify_refused = false;
    const CompiledFilter answering = compiled(spec);
    seccomp_data data{};
    for (const std::uint32_t arch : {notifying.audit_arch, std::uint32_t{AUDIT_ARCH_I386}}) {
      data.arch = arch;
      for (int number = -3; number <= 600; ++number) {
        for (const std::uint32_t bits : {0U, 0xffffffffU, static_cast<std::uint32_t>(random())}) {
          std::fill(std::begin(data.args), std::end(data.args), bits & random());
          data.nr = number;
          const std::uint32_t told = evaluate_bpf(notifying.program, data).ret;
          const std::uint32_t answered = evaluate_bpf(answering.program, data).ret;
          if (told == answered) continue;
          ASSERT_EQ(told, SECCOMP_RET_USER_NOTIF) << number;
          ASSERT_EQ(answered, foreign_call(arch, number) ? SECCOMP_RET_KILL_PROCESS
                                                         : SECCOMP_RET_ERRNO | EPERM);
        }
      }
    }
  }
}

using ValueLists = std::vector<std::vector<std::uint64_t>>;

// Every combination of the lists, one list an argument, each value also with garbage above it.
void compare_arguments(const CompiledFilter& filter, const Oracle& oracle, int number,
                       const ValueLists& lists, const std::string& what) {
  const auto program = oracle.program();
  std::size_t combinations = 1;
  for (const auto& list : lists) combinations *= 2 * list.size();
  ASSERT_LT(combinations, 200000U);
  for (std::size_t index = 0; index < combinations; ++index) {
    seccomp_data data{};
    data.arch = filter.audit_arch;
    data.nr = number;
    std::size_t rest = index;
    for (std::size_t arg = 0; arg < lists.size(); ++arg) {
      const std::size_t pick = rest % (2 * lists[arg].size());
      rest /= 2 * lists[arg].size();
      data.args[arg] = lists[arg][pick / 2] | (pick % 2 == 0 ? 0 : kGarbage);
    }
    ASSERT_NO_FATAL_FAILURE(expect_agreement(filter, program, data, what));
  }
}

std::vector<std::uint64_t> random_words(unsigned seed) {
  std::vector<std::uint64_t> words = {0, 1, 0x7fffffffU, 0x80000000U, 0xffffffffU};
  for (unsigned bit = 0; bit < 32; ++bit) words.push_back(std::uint64_t{1} << bit);
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) words.push_back(random() & random() & 0xffffffffU);
  return words;
}

void compare_flags(const FilterSpec& spec, const char* name, unsigned arg, std::uint32_t refused,
                   bool checked) {
  const int number = number_of(name);
  Oracle oracle(kRefuse);
  if (checked) {
    oracle.add(SCMP_ACT_ALLOW, number, {low(arg, refused, 0)});
  } else {
    oracle.add(SCMP_ACT_ALLOW, number);
  }
  ValueLists lists(arg, {refused});
  lists.push_back(random_words(arg + 1));
  compare_arguments(compiled(spec), oracle, number, lists, name + describe(spec));
}

TEST(FilterOracle, AgreesWithLibseccompOnNamespaceFlags) {
  for (const FilterSpec& spec : every_spec()) {
    const bool checked = !grants_namespaces(spec);
    ASSERT_NO_FATAL_FAILURE(compare_flags(spec, "clone", 0, 0x7e020000, checked));
    ASSERT_NO_FATAL_FAILURE(compare_flags(spec, "unshare", 0, 0x7e020080, checked));
  }
}

TEST(FilterOracle, AgreesWithLibseccompOnSendFlags) {
  for (const FilterSpec& spec : every_spec()) {
    const bool checked = !spec.network_namespace;
    ASSERT_NO_FATAL_FAILURE(compare_flags(spec, "sendto", 3, 0x20000000, checked));
    ASSERT_NO_FATAL_FAILURE(compare_flags(spec, "sendmsg", 2, 0x20000000, checked));
    ASSERT_NO_FATAL_FAILURE(compare_flags(spec, "sendmmsg", 3, 0x20000000, checked));
  }
}

TEST(FilterOracle, AgreesWithLibseccompOnIoctlAndPtraceRequests) {
  std::vector<std::uint64_t> requests = random_words(9);
  for (std::uint64_t near = 0x5400; near < 0x5430; ++near) requests.push_back(near);
  for (std::uint64_t near = 0x4200; near < 0x4220; ++near) requests.push_back(near);
  for (std::uint64_t near = 0; near < 64; ++near) requests.push_back(near);
  for (const FilterSpec& spec : every_spec()) {
    Oracle fcntl(SCMP_ACT_ALLOW);
    fcntl.add(kRefuse, number_of("fcntl"), {low(1, 1024)});
    ASSERT_NO_FATAL_FAILURE(compare_arguments(compiled(spec), fcntl, number_of("fcntl"),
                                              {{0}, random_words(4)}, describe(spec)));
    Oracle ioctl(SCMP_ACT_ALLOW);
    ioctl.add(kRefuse, number_of("ioctl"), {low(1, 0x5412)});
    ioctl.add(kRefuse, number_of("ioctl"), {low(1, 0x541C)});
    ASSERT_NO_FATAL_FAILURE(compare_arguments(compiled(spec), ioctl, number_of("ioctl"),
                                              {{0, 0x5412}, requests}, describe(spec)));
    Oracle ptrace(is_strict(spec) ? kRefuse : SCMP_ACT_ALLOW);
    if (!is_strict(spec) && !spec.pid_namespace) {
      ptrace.add(kRefuse, number_of("ptrace"), {low(0, 16)});
      ptrace.add(kRefuse, number_of("ptrace"), {low(0, 0x4206)});
    }
    ASSERT_NO_FATAL_FAILURE(
        compare_arguments(compiled(spec), ptrace, number_of("ptrace"), {requests}, describe(spec)));
  }
}

TEST(FilterOracle, AgreesWithLibseccompOnPersonalitiesAndMemoryFiles) {
  for (const FilterSpec& spec : every_spec()) {
    Oracle personality(kRefuse);
    for (const std::uint32_t value :
         {0U, 8U, 0x20000U, 0x20008U, 0x40000U, 0x40008U, 0x60000U, 0x60008U, 0xffffffffU}) {
      personality.add(SCMP_ACT_ALLOW, number_of("personality"), {low(0, value)});
    }
    std::vector<std::uint64_t> values = random_words(3);
    for (const std::uint64_t value : {8U, 0x20008U, 0x40008U, 0x60000U, 0x60008U, 0x60009U}) {
      values.push_back(value);
    }
    ASSERT_NO_FATAL_FAILURE(compare_arguments(compiled(spec), personality, number_of("personality"),
                                              {values}, describe(spec)));
    Oracle memfd(is_strict(spec) ? kRefuse : SCMP_ACT_ALLOW);
    if (is_strict(spec)) {
      memfd.add(SCMP_ACT_ALLOW, number_of("memfd_create"), {low(1, 8, 8)});
    }
    ASSERT_NO_FATAL_FAILURE(compare_arguments(compiled(spec), memfd, number_of("memfd_create"),
                                              {{0, 8}, values}, describe(spec)));
  }
}

TEST(FilterOracle, AgreesWithLibseccompOnModes) {
  std::vector<std::uint64_t> modes = random_words(5);
  for (const std::uint64_t mode : {0755U, 01777U, 02755U, 04755U, 0104755U}) modes.push_back(mode);
  std::vector<std::uint64_t> flags;
  for (unsigned bit = 0; bit < 32; ++bit) flags.push_back(std::uint64_t{1} << bit);
  for (const std::uint64_t more : {0U, 01101U, 020200002U, 0x7fffffffU}) flags.push_back(more);
  const CompiledFilter filter = compiled({});
  const auto compare = [&](int number, unsigned mode, const ValueLists& lists) {
    Oracle oracle(kRefuse);
    oracle.add(SCMP_ACT_ALLOW, number, {low(mode, 06000, 0)});
    if (lists.size() > mode && lists[mode - 1].size() > 1) {
      oracle.add(SCMP_ACT_ALLOW, number, {low(mode - 1, 020000100, 0)});
    }
    compare_arguments(filter, oracle, number, lists, "mode");
  };
  ASSERT_NO_FATAL_FAILURE(compare(number_of("fchmod"), 1, {{3}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(number_of("fchmodat"), 2, {{3}, {4}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(number_of("mknodat"), 2, {{3}, {4}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(452, 2, {{3}, {4}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(number_of("openat"), 3, {{3}, {4}, flags, modes}));
#if defined(__x86_64__)
  ASSERT_NO_FATAL_FAILURE(compare(number_of("chmod"), 1, {{3}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(number_of("creat"), 1, {{3}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(number_of("mknod"), 1, {{3}, modes}));
  ASSERT_NO_FATAL_FAILURE(compare(number_of("open"), 2, {{3}, flags, modes}));
#endif
}

// What may be set of another process, and of PID 1 never.
TEST(FilterOracle, AgreesWithLibseccompOnLimitsAndPrioritiesOfOthers) {
  std::vector<std::uint64_t> pids = random_words(11);
  pids.resize(60);
  pids.push_back(2);
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    const auto compare = [&](const char* name, Oracle& oracle, const ValueLists& lists) {
      compare_arguments(filter, oracle, number_of(name), lists, name + describe(spec));
    };
    Oracle limits(spec.pid_namespace ? SCMP_ACT_ALLOW : kRefuse);
    if (spec.pid_namespace) {
      limits.add(kRefuse, number_of("prlimit64"), {low(0, 1)});
    } else {
      limits.add(SCMP_ACT_ALLOW, number_of("prlimit64"), {low(0, 0)});
    }
    ASSERT_NO_FATAL_FAILURE(compare("prlimit64", limits, {pids}));
    for (const char* name :
         {"sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr"}) {
      const bool refused = is_strict(spec) && name != std::string("sched_setaffinity");
      Oracle oracle(refused ? kRefuse : SCMP_ACT_ALLOW);
      if (!refused && spec.pid_namespace) oracle.add(kRefuse, number_of(name), {low(0, 1)});
      ASSERT_NO_FATAL_FAILURE(compare(name, oracle, {pids}));
    }
    Oracle priority(SCMP_ACT_ALLOW);
    priority.add(kRefuse, number_of("setpriority"), {low(1, 1)});
    priority.add(kRefuse, number_of("setpriority"), {low(0, 2)});
    ASSERT_NO_FATAL_FAILURE(compare("setpriority", priority, {{0, 1, 2, 3}, pids}));
    Oracle io(is_strict(spec) ? kRefuse : SCMP_ACT_ALLOW);
    if (!is_strict(spec)) {
      io.add(kRefuse, number_of("ioprio_set"), {low(1, 1)});
      io.add(kRefuse, number_of("ioprio_set"), {low(0, 3)});
    }
    ASSERT_NO_FATAL_FAILURE(compare("ioprio_set", io, {{0, 1, 2, 3, 4}, pids}));
  }
}

TEST(FilterOracle, AgreesWithLibseccompOnOwners) {
  std::vector<std::uint64_t> ids = random_words(7);
  ids.insert(ids.end(), {1000, 1001, 100});
  ids.erase(ids.begin() + 40, ids.begin() + 280);
  for (const bool is_strict : {false, true}) {
    FilterSpec spec;
    spec.mode = is_strict ? SeccompMode::kStrict : SeccompMode::kDefault;
    spec.own_ids = {1000, 100};
    const CompiledFilter filter = compiled(spec);
    const auto compare = [&](const char* name, unsigned owner, ValueLists lists) {
      Oracle oracle(kRefuse);
      for (const std::uint32_t uid : {1000U, 0xffffffffU}) {
        for (const std::uint32_t gid : {100U, 0xffffffffU}) {
          oracle.add(SCMP_ACT_ALLOW, number_of(name), {low(owner, uid), low(owner + 1, gid)});
        }
      }
      lists.insert(lists.end(), {ids, ids});
      compare_arguments(filter, oracle, number_of(name), lists, name);
    };
    ASSERT_NO_FATAL_FAILURE(compare("fchown", 1, {{3}}));
    ASSERT_NO_FATAL_FAILURE(compare("fchownat", 2, {{3}, {1000}}));
#if defined(__x86_64__)
    ASSERT_NO_FATAL_FAILURE(compare("chown", 1, {{3}}));
    ASSERT_NO_FATAL_FAILURE(compare("lchown", 1, {{3}}));
#endif
  }
}

Oracle& add_socket_rules(Oracle& oracle, const FilterSpec& spec, int number) {
  oracle.add(SCMP_ACT_ALLOW, number, {low(0, 1)});
  for (const std::uint32_t protocol : {0U, 4U, 16U}) {
    if (!is_strict(spec)) oracle.add(SCMP_ACT_ALLOW, number, {low(0, 16), low(2, protocol)});
  }
  if (!spec.allow_inet) return oracle;
  for (const std::uint32_t family : {2U, 10U}) {
    for (const std::uint32_t type : {1U, 2U}) {
      for (const std::uint32_t protocol : {0U, 1U, 6U, 17U, 58U, 262U}) {
        oracle.add(SCMP_ACT_ALLOW, number, {low(0, family), low(1, 0xf, type), low(2, protocol)});
      }
    }
  }
  return oracle;
}

TEST(FilterOracle, AgreesWithLibseccompOnSockets) {
  const ValueLists lists = {{0, 1, 2, 3, 9, 10, 11, 16, 17, 38, 40, 44, 0x10002, 0xffffffffU},
                            {0, 1, 2, 3, 4, 5, 10, 15, 02000001, 02000003, 04002, 0x11, 0x12},
                            {0, 1, 2, 4, 6, 9, 16, 17, 58, 132, 136, 255, 262, 0x10006}};
  for (const FilterSpec& spec : every_spec()) {
    if (spec.notify_refused) continue;
    for (const char* name : {"socket", "socketpair"}) {
      Oracle oracle(kRefuse);
      add_socket_rules(oracle, spec, number_of(name));
      ASSERT_NO_FATAL_FAILURE(
          compare_arguments(compiled(spec), oracle, number_of(name), lists, name + describe(spec)));
    }
  }
}

}  // namespace
}  // namespace sbx
