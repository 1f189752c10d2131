// SPDX-License-Identifier: Apache-2.0
// The filter in the kernel: loaded in a child, as whatever user runs the test, and asked with real
// calls; and the programs that people run, under both modes. Arguments are such that a call which
// got through would fail harmlessly, with another errno than the filter's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "plan/filter_harness.h"

namespace sbx {
namespace {

constexpr unsigned kChildSeconds = 60;
constexpr int kLoadFailed = 99;

// No allocation: it runs between fork and exec.
int load(const CompiledFilter& filter, unsigned flags = 0) {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(filter.program.size());
  program.filter = const_cast<sock_filter*>(filter.program.data());
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

// The wait status of a child that runs `body` under an alarm and exits with its answer.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    _exit(body());
  }
  EXPECT_GT(child, 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

FilterSpec answering_spec(SeccompMode mode = SeccompMode::kDefault) {
  FilterSpec spec;
  spec.mode = mode;
  spec.notify_refused = false;
  return spec;
}

// The errno of one call under the filter, 0 where it succeeded.
int errno_under(const FilterSpec& spec, long number, const std::array<long, 5>& args = {}) {
  const CompiledFilter filter = compiled(spec);
  const int status = status_of_child([&] {
    if (load(filter) != 0) return kLoadFailed;
    errno = 0;
    const long result = syscall(number, args[0], args[1], args[2], args[3], args[4]);
    return result == -1 ? errno : 0;
  });
  EXPECT_TRUE(WIFEXITED(status)) << "call " << number << " status " << status;
  EXPECT_NE(WEXITSTATUS(status), kLoadFailed) << "the kernel did not take the filter";
  return WEXITSTATUS(status);
}

constexpr long kTiocsti = 0x5412;
constexpr long kHighBit = 1L << 32;

TEST(FilterInTheKernel, RefusesDangerousCallsWithEperm) {
  struct Case {
    const char* what;
    long number;
    std::array<long, 5> args;
  };
  const std::vector<Case> cases = {
      {"keyctl", SYS_keyctl, {99999}},
      {"add_key", SYS_add_key, {}},
      {"mount", SYS_mount, {}},
      {"open_tree", SYS_open_tree, {-1, 0, 99}},
      {"open_tree_attr", 467, {-1}},
      {"setns", SYS_setns, {-1, 0}},
      {"unshare with a namespace", SYS_unshare, {0x10000000 | 0x1}},
      {"clone with a namespace", SYS_clone, {0x00020200}},
      {"perf_event_open", SYS_perf_event_open, {}},
      {"userfaultfd", SYS_userfaultfd, {-1}},
      {"io_uring_setup", SYS_io_uring_setup, {}},
      {"pidfd_getfd", SYS_pidfd_getfd, {-1, -1, 99}},
      {"open_by_handle_at", SYS_open_by_handle_at, {-1, 0, 0}},
      {"kcmp", SYS_kcmp, {0, 0, 99}},
      {"process_madvise", SYS_process_madvise, {-1}},
      {"fanotify_init", SYS_fanotify_init, {-1, -1}},
      {"bpf", SYS_bpf, {-1, 0, 0}},
      {"a vsock socket", SYS_socket, {40, 99, 0}},
      {"a packet socket", SYS_socket, {17, 99, 0}},
      {"a raw socket", SYS_socket, {2, 3, 99999}},
      {"netlink audit", SYS_socket, {16, 99, 9}},
      {"TIOCSTI", SYS_ioctl, {-1, kTiocsti, 0}},
      {"TIOCSTI with a high bit", SYS_ioctl, {-1, kTiocsti | kHighBit, 0}},
      {"READ_IMPLIES_EXEC", SYS_personality, {0x400000}}};
  for (const Case& one : cases) {
    EXPECT_EQ(errno_under(answering_spec(), one.number, one.args), EPERM) << one.what;
  }
}

TEST(FilterInTheKernel, AnswersUnknownCallsAndClone3WithEnosys) {
  EXPECT_EQ(errno_under(answering_spec(), SYS_clone3, {0, 0}), ENOSYS);
  EXPECT_EQ(errno_under(answering_spec(), 600), ENOSYS);
  EXPECT_EQ(errno_under(answering_spec(), 511), ENOSYS);
}

TEST(FilterInTheKernel, LetsOrdinaryCallsThrough) {
  EXPECT_EQ(errno_under(answering_spec(), SYS_getpid), 0);
  EXPECT_EQ(errno_under(answering_spec(), SYS_socket, {1, 1, 0}), 0);
  EXPECT_EQ(errno_under(answering_spec(), SYS_socket, {2, 1 | 02000000, 0}), 0);
  EXPECT_EQ(errno_under(answering_spec(), SYS_socket, {16, 3, 0}), 0);
  EXPECT_EQ(errno_under(answering_spec(), SYS_personality, {0xffffffffL}), 0);
  EXPECT_EQ(errno_under(answering_spec(), SYS_unshare, {0x200}), 0) << "CLONE_FS";
  EXPECT_EQ(errno_under(answering_spec(), SYS_ioctl, {-1, 0x5413, 0}), EBADF);
}

#if defined(__x86_64__)
TEST(FilterInTheKernel, KillsX32Numbers) {
  const CompiledFilter filter = compiled(answering_spec());
  const int status = status_of_child([&] {
    if (load(filter) != 0) return kLoadFailed;
    return static_cast<int>(syscall(0x40000000 | SYS_getpid)) & 0x7f;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

long getpid_by_i386() {
  long result = 20;  // getpid of i386
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result;
}

TEST(FilterInTheKernel, KillsI386Calls) {
  const int before = status_of_child([] { return getpid_by_i386() > 0 ? 0 : 1; });
  if (!WIFEXITED(before) || WEXITSTATUS(before) != 0) {
    GTEST_SKIP() << "this kernel runs no i386 calls";
  }
  const CompiledFilter filter = compiled(answering_spec());
  const int status = status_of_child([&] {
    if (load(filter) != 0) return kLoadFailed;
    return getpid_by_i386() > 0 ? 0 : 1;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}
#endif

// Answers one notification as the supervisor will; the number of the call, or -1.
int answer_one_notification(int listener) {
  pollfd ready{listener, POLLIN, 0};
  if (poll(&ready, 1, 10000) != 1) return -1;
  seccomp_notif notice{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) return -1;
  seccomp_notif_resp answer{};
  answer.id = notice.id;
  answer.error = -EPERM;
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0) return -1;
  return notice.data.nr;
}

TEST(FilterInTheKernel, NotifiesTheListenerOfARefusedCallAndOfNoAllowedOne) {
  FilterSpec spec;
  const CompiledFilter filter = compiled(spec);
  const int status = status_of_child([&] {
    std::atomic<int> listener{-2};
    std::atomic<int> heard{0};
    std::thread supervisor([&] {  // made before the load, so not filtered itself
      while (listener.load() == -2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (listener.load() >= 0) heard = answer_one_notification(listener.load());
    });
    listener = load(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (listener.load() < 0) {
      supervisor.join();
      return kLoadFailed;
    }
    const bool allowed = syscall(SYS_getppid) >= 0 && syscall(SYS_clone3, 0, 0) == -1;
    const bool refused = syscall(SYS_keyctl, 99999) == -1 && errno == EPERM;
    supervisor.join();
    return allowed && refused && heard.load() == SYS_keyctl ? 0 : 1;
  });
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kLoadFailed) GTEST_SKIP() << "another listener is already in place";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sbx-filter-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a shell script in an empty directory; the filter may be null.
int status_of_script(const std::string& script, const CompiledFilter* filter) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(directory.path().empty());
  const std::string home = "HOME=" + directory.path();
  std::string path = "PATH=/usr/local/bin:/usr/bin:/bin";
  std::array<char*, 3> environment = {path.data(), const_cast<char*>(home.c_str()), nullptr};
  std::array<const char*, 4> arguments = {"bash", "-c", script.c_str(), nullptr};
  return status_of_child([&] {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (chdir(directory.path().c_str()) != 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) return 98;
    if (filter != nullptr && load(*filter) != 0) return kLoadFailed;
    execve("/bin/bash", const_cast<char**>(arguments.data()), environment.data());
    return 97;
  });
}

bool succeeded(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

struct Program {
  const char* name;
  const char* script;
};

std::string program_name(const testing::TestParamInfo<Program>& test) { return test.param.name; }

void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

void expect_runs_under(const Program& program, const FilterSpec& spec) {
  if (!succeeded(status_of_script(program.script, nullptr))) {
    GTEST_SKIP() << program.name << " does not run here even without a filter";
  }
  const CompiledFilter filter = compiled(spec);
  const int status = status_of_script(program.script, &filter);
  EXPECT_TRUE(succeeded(status)) << program.name << ": status " << status << " under "
                                 << describe(spec);
}

class Everyday : public testing::TestWithParam<Program> {};

TEST_P(Everyday, RunsUnderTheDefaultFilter) { expect_runs_under(GetParam(), answering_spec()); }

TEST_P(Everyday, RunsUnderTheStrictFilter) {
  FilterSpec spec = answering_spec(SeccompMode::kStrict);
  spec.network_namespace = false;
  spec.pid_namespace = false;
  expect_runs_under(GetParam(), spec);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Everyday,
    testing::Values(
        Program{"bash",
                "set -e; x=$(echo a | cat); [ \"$x\" = a ]; (exit 0) & wait; "
                "cat <(echo b) >/dev/null; ulimit -n >/dev/null"},
        Program{"coreutils",
                "set -e; mkdir d; echo x >d/f; cp -a d e; mv e g; ln -s f d/l; ls -laR >/dev/null; "
                "chmod 600 d/f; touch -d yesterday d/f; mkfifo p; stat p; df . ; du -s .; "
                "sort -r d/f | head -1; nice -n 5 true; timeout 5 true; truncate -s 1M big; "
                "dd if=/dev/zero of=z bs=1k count=4 2>/dev/null; sync z; rm -r d g p; id; nproc"},
        Program{"python3",
                "python3 -c 'import subprocess, threading, tempfile, socket, os, json\n"
                "subprocess.run([\"true\"], check=True)\n"
                "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
                "a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"\n"
                "import multiprocessing\n"
                "p = multiprocessing.Process(target=int); p.start(); p.join()\n"
                "assert p.exitcode == 0\n"
                "tempfile.TemporaryFile().write(b\"x\"); os.urandom(4)'"},
        Program{"gcc",
                "set -e; echo 'int main(void){return 0;}' >a.c; TMPDIR=. gcc -O1 -o a a.c; "
                "./a"},
        Program{"make", "set -e; printf 'all: a b\\na b:\\n\\ttouch $@\\n' >Makefile; make -j2"},
        Program{"git",
                "set -e; git init -q r; cd r; echo x >f; git add f; "
                "git -c user.name=n -c user.email=e@x commit -q -m m; git log; git status; "
                "git gc -q"},
        Program{"node",
                "node -e 'require(\"child_process\").execSync(\"true\"); "
                "require(\"fs\").promises.readFile(\"/etc/passwd\")"
                ".then(() => new (require(\"worker_threads\").Worker)"
                "(\"0\", {eval: true}))'"},
        Program{"perl", "perl -e 'system(\"true\") == 0 or die'"},
        Program{"tar", "set -e; echo x >f; tar czf f.tgz f; tar xzf f.tgz"}),
    program_name);

class Debugging : public testing::TestWithParam<Program> {};

TEST_P(Debugging, WorksOnOnesOwnChildren) { expect_runs_under(GetParam(), answering_spec()); }

TEST_P(Debugging, WorksOnOnesOwnChildrenWithoutAPidNamespace) {
  FilterSpec spec = answering_spec();
  spec.pid_namespace = false;
  expect_runs_under(GetParam(), spec);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Debugging,
    testing::Values(Program{"strace", "strace -f -o t sh -c 'true; ls' && grep -q execve t"},
                    Program{"gdb",
                            "gdb -nx -batch -ex 'break main' -ex run -ex bt -ex kill "
                            "/bin/true 2>&1 | tee log; "
                            "gdb -nx -batch -ex run /bin/true 2>&1 "
                            "| grep -q 'exited normally'"}),
    program_name);

}  // namespace
}  // namespace sbx
