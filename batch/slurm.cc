// SPDX-License-Identifier: Apache-2.0
// salloc holds the nodes and runs a `cat` that ends with us: then it gives the nodes back, however
// we have ended. Each server is a step of its own, whose end of file ends it.
#include "slurm.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/files.h"
#include "base/loop.h"
#include "base/pointers.h"
#include "base/text.h"
#include "rpc/framing.h"

namespace sbx::batch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLongestAnswer{60'000};
constexpr std::string_view kOwn = "sbx-run: ";  // begins what sbx-run says on its standard error
constexpr const char* kEnd = "sbx-batch: that is all";

Error slurm_error(const std::string& what, const std::string& said) {
  return Error{ErrorCode::kSessionFailed, what + (said.empty() ? "" : ": " + said), "--on",
               "sinfo and squeue say more"};
}

[[noreturn]] void become(int socket, int errors, pid_t parent, const std::vector<char*>& argv) {
  // A ^C at our terminal is ours to answer.
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  dup2(socket, 0);
  dup2(socket, 1);
  dup2(errors, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execvp(argv[0], argv.data());
  _exit(127);
}

// Whether so many nodes could ever be had: Slurm itself would let us wait for ever.
Status check_nodes(const SlurmWanted& wanted, int signal_fd) {
  std::vector<std::string> argv = {"sinfo", "-h", "-N", "-o", "%P %N %t"};
  if (!wanted.partition.empty()) argv.insert(argv.end(), {"-p", wanted.partition});
  SBX_TRY(const Child sinfo, Child::start(argv));
  std::vector<std::string> lines;
  sinfo.read_until("", kLongestAnswer, signal_fd, lines);
  std::vector<std::string> names;
  for (const std::string& line : lines) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() < 3) continue;
    const bool is_ours = !wanted.partition.empty() || words[0].ends_with('*');
    const bool is_up = words[2].find_first_of("*$") == std::string_view::npos &&
                       !words[2].starts_with("down") && !words[2].starts_with("drain") &&
                       !words[2].starts_with("drng") && !words[2].starts_with("fail") &&
                       !words[2].starts_with("unk") && !words[2].starts_with("inval");
    if (is_ours && is_up) names.emplace_back(words[1]);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (lines.empty() && !sinfo.complaint().empty()) {
    return slurm_error("sinfo failed", sinfo.complaint());
  }
  if (names.size() >= wanted.nodes) return {};
  return Error{ErrorCode::kSessionFailed,
               std::to_string(wanted.nodes) + " nodes are asked for, " +
                   std::to_string(names.size()) + " are up" +
                   (wanted.partition.empty() ? "" : " in partition " + wanted.partition),
               "--nodes", "sinfo lists them"};
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& argv) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return call_failed(ErrorCode::kSetupFailed, "socketpair", "socketpair");
  }
  Child out;
  out.socket_.reset(ends[0]);
  const OwnedFd theirs(ends[1]);
  out.errors_.reset(memfd_create("stderr", MFD_CLOEXEC));
  const std::vector<char*> words = pointers(argv);
  const pid_t parent = getpid();
  out.pid_ = fork();
  if (out.pid_ == 0) become(theirs.get(), out.errors_.get(), parent, words);
  if (out.pid_ < 0) {
    return call_failed(ErrorCode::kSetupFailed, "fork", "fork");
  }
  fcntl(out.socket_.get(), F_SETFL, O_NONBLOCK);
  return out;
}

Child::Child(Child&& other) noexcept
    : socket_(std::move(other.socket_)),
      errors_(std::move(other.errors_)),
      pid_(std::exchange(other.pid_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(errors_, other.errors_);
  std::swap(pid_, other.pid_);
  return *this;
}

Child::~Child() {
  if (pid_ < 0) return;
  socket_.reset();
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal != 0) ::kill(pid_, signal);
    const auto until = Clock::now() + kLongestEnd;
    while (Clock::now() < until) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
      usleep(5000);
    }
  }
}

void Child::end(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

bool Child::read_until(const std::string& last, milliseconds patience, int signal_fd,
                       std::vector<std::string>& lines) const {
  LineReader reader;
  const auto until = Clock::now() + patience;
  for (;;) {
    while (auto line = reader.next()) {
      if (line->text == last) return true;
      lines.push_back(std::move(line->text));
    }
    if (Clock::now() >= until) return false;
    struct pollfd ready[2] = {{socket_.get(), POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (poll(ready, 2, Loop::wait_ms(until)) < 0) return false;
    if (ready[1].revents != 0) return false;
    if (ready[0].revents != 0 && read_some(socket_.get(), reader) == IoState::kClosed) return false;
  }
}

std::string Child::complaint() const {
  std::array<char, 4096> text;  // filled by pread
  const ssize_t size = pread(errors_.get(), text.data(), text.size(), 0);
  std::string said(text.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  while (said.ends_with('\n')) said.pop_back();
  std::string_view last;
  std::string_view own;
  for (const std::string_view line : split(said, '\n')) {
    last = line;
    if (line.starts_with(kOwn)) own = line.substr(kOwn.size());
  }
  return std::string(own.empty() ? last : own);
}

Result<SlurmJob> SlurmJob::submit(const SlurmWanted& wanted, int signal_fd) {
  SBX_CHECK_OK(check_nodes(wanted, signal_fd));
  // --no-kill: the death of one node ends neither the job nor the others' steps.
  std::vector<std::string> argv = {"salloc",
                                   "--quiet",
                                   "--no-kill",
                                   "--exclusive",
                                   "--job-name=sbx-batch",
                                   "--no-bell",
                                   "--nodes=" + std::to_string(wanted.nodes)};
  if (!wanted.partition.empty()) argv.push_back("--partition=" + wanted.partition);
  argv.insert(argv.end(), {"sh", "-c",
                           "echo \"$SLURM_JOB_ID\"; echo \"${SLURM_JOB_CPUS_PER_NODE:-1}\"; "
                           "scontrol show hostnames \"$SLURM_JOB_NODELIST\"; echo '" +
                               std::string(kEnd) + "'; exec cat >/dev/null"});
  SlurmJob job;
  SBX_TRY(job.allocation_, Child::start(argv));
  std::vector<std::string> lines;
  // As long as the queue is.
  constexpr milliseconds kForEver{INT64_C(1000) * 3600 * 24 * 365};
  if (!job.allocation_.read_until(kEnd, kForEver, signal_fd, lines) || lines.size() < 3) {
    job.allocation_.end(SIGTERM);
    return slurm_error("Slurm gives no nodes", job.allocation_.complaint());
  }
  job.id_ = lines[0];
  // "2", "2(x3)", "2,4"
  job.processors_ = static_cast<std::uint64_t>(
      parse_count(lines[1].substr(0, lines[1].find_first_not_of("0123456789")), 4096).value_or(1));
  job.nodes_.assign(lines.begin() + 2, lines.end());
  return job;
}

Result<Child> SlurmJob::serve(const std::string& node, const std::string& program,
                              const std::vector<std::string>& flags) const {
  // What names directories of this machine means nothing there.
  std::string text = "unset XDG_RUNTIME_DIR TMPDIR; p=" + shell_quoted(program) +
                     "; [ -x \"$p\" ] || p=sbx-run; exec \"$p\" serve";
  for (const std::string& flag : flags) text += " " + shell_quoted(flag);
  return Child::start({"srun", "--quiet", "--jobid=" + id_, "--nodes=1", "--ntasks=1",
                       "--nodelist=" + node, "--overlap", "--no-kill", "--wait=0",
                       "--kill-on-bad-exit=0", "--chdir=/", "--unbuffered", "--cpu-bind=none", "sh",
                       "-c", text});
}

}  // namespace sbx::batch
