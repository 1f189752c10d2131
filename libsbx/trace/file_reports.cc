// SPDX-License-Identifier: Apache-2.0
// In the process apart a name is resolved below the sandbox's root and compared with what the plan
// denies. It is asked about one call at a time.
#include "trace/file_reports.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "guard/names.h"
#include "guard/places.h"
#include "host/owners.h"
#include "plan/placements.h"
#include "trace/file_call.h"
#include "trace/file_view.h"
#include "trace/inside_paths.h"

namespace sbx {
namespace {

constexpr std::size_t kMostWaiting = 512;  // beyond, calls go on unseen
// Looking waits for nobody, unless the command or a server that does not answer means it to.
constexpr std::chrono::seconds kLongestLook{2};
constexpr int kMostFailures = 8;  // of a run; then nothing is looked at any more
// Two paths, and a little more.
constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;

// The first symlink on the way, replaced by what it says; nullopt where none is known.
std::optional<std::string> without_first_link(const OwnedFd& root, const std::string& path) {
  for (std::size_t at = 0; at < path.size();) {
    at = std::min(path.find('/', at + 1), path.size());
    const std::string way = path.substr(0, at);
    const OwnedFd step = open_below(root, way, O_PATH | O_NOFOLLOW, sys::kResolveCached);
    if (!step.is_open()) return std::nullopt;
    const std::optional<std::string> target = link_target(step);
    if (!target) continue;
    const std::string base = target->starts_with('/') ? "" : way.substr(0, way.rfind('/') + 1);
    return base + *target + path.substr(at);
  }
  return std::nullopt;
}

// Without waiting for a disk or a server: what is masked is in the kernel's caches, and so is the
// way to it, as the caller has just taken it. Such a lookup also fails where a mount or a rename
// anywhere on the machine comes between, and at a link whose time of access is due.
OwnedFd open_cached(const OwnedFd& root, std::string& path) {
  constexpr int kMaxTries = 16;
  for (int tries = 1;; ++tries) {
    OwnedFd file = open_below(root, path, O_PATH, sys::kResolveCached);
    if (file.is_open() || errno != EAGAIN || tries == kMaxTries) return file;
    if (auto shorter = without_first_link(root, path)) path = std::move(*shorter);
  }
}

// What the process apart does, call by call.
class FileLook {
 public:
  FileLook(const LaunchPlan& plan, const Policy& policy)
      : plan_(plan), policy_(policy), view_(plan, policy, root_) {}

  // Unless every path is traced, it waits for a disk or a server nowhere but in the caller's
  // memory.
  std::optional<Denial> denial(const sys::SeccompNotif& call);

 private:
  std::optional<Denial> denial_of(const NamedFile& file, const std::string& path);
  std::optional<Denial> link_denial(const char* operation, const std::string& from,
                                    const std::string& to) const;
  std::string named_by(const NamedFile& file, const std::string& path) const;
  std::string denied_program(std::string path) const;

  const LaunchPlan& plan_;
  const Policy& policy_;
  OwnedFd root_;  // of the first process that called
  FileView view_;
};

// As the caller means it; of what a descriptor holds, where that lies.
std::optional<std::string> named_path(std::uint32_t tid, const NamedFile& file) {
  if (file.is_held && file.dirfd >= 0) return absolute_path(tid, file.dirfd, "");
  if (file.address == 0) return std::nullopt;
  const auto name = read_path(tid, file.address);
  if (!name || (name->empty() && !file.may_be_empty)) return std::nullopt;
  return absolute_path(tid, file.dirfd, *name);
}

std::optional<Denial> FileLook::denial(const sys::SeccompNotif& call) {
  if (!root_.is_open()) root_ = open_root(call.pid);
  if (!root_.is_open()) return std::nullopt;
  std::string linked;  // the file of a link or a move, while its new name is looked at
  for (const NamedFile& file : files_of(call)) {
    const auto path = named_path(call.pid, file);
    if (!path) continue;
    std::optional<Denial> denial = denial_of(file, *path);
    if (!denial && !linked.empty()) denial = link_denial(file.operation, linked, *path);
    const std::string_view operation = file.operation;
    const bool is_first = (operation == "link" && file.need == FileNeed::kLook) ||
                          (operation == "rename" && file.need == FileNeed::kRemove);
    if (is_first) linked = *path;
    if (!denial) continue;
    denial->program = program_name(call.pid);
    return denial;  // the kernel stops at the first one as well
  }
  return std::nullopt;
}

std::optional<Denial> FileLook::denial_of(const NamedFile& file, const std::string& path) {
  if (file.need == FileNeed::kExec) {
    const std::string program = denied_program(path);
    if (!program.empty()) {
      const Refuser layer = plan_.wanted.has(Layer::kMount) ? Refuser::kMount : Refuser::kLandlock;
      return Denial{layer,   file.operation,
                    program, 1,
                    "",      guard::denied_name_grant(policy_.sandbox.commands.deny, program)};
    }
  }
  auto refusal = view_.move_refusal(file, path);
  const std::string named = policy_.sandbox.trace_denials ? "" : named_by(file, path);
  const bool is_traced = policy_.sandbox.trace_denials || !named.empty();
  if (!refusal && (is_traced || plan_.reports_writes)) refusal = view_.refusal(file, path);
  if (refusal && !is_traced && !refusal->is_by_overlay) refusal.reset();
  // What was looked at on the way to it needs no more than it does.
  if (refusal && file.need == FileNeed::kLook && !named.empty() && !is_below(path, named)) {
    refusal = view_.refusal(file, named);
  }
  if (!refusal) return std::nullopt;
  return Denial{refusal->layer, file.operation, named.empty() ? refusal->target : named, 1, "",
                refusal->grant};
}

std::optional<Denial> FileLook::link_denial(const char* operation, const std::string& from,
                                            const std::string& to) const {
  if (!policy_.sandbox.trace_denials) return std::nullopt;
  const auto refusal = view_.link_refusal(from, to);
  if (!refusal) return std::nullopt;
  return Denial{refusal->layer, operation, refusal->target, 1, "", refusal->grant};
}

namespace {

// "hosts.tmp" and ".hosts.swp" for "hosts".
bool names_after(std::string_view path, std::string_view named) {
  const std::string_view name = name_part(named);
  return !name.empty() && name_part(path).find(name) != std::string_view::npos;
}

}  // namespace

// What a call is told by that is about a path in the command's text: that very one, the one that a
// new file beside it is to take the place of, or a directory that is changed, as by `rm -r` and
// `cp`; one that is looked for by a directory above it. Of a directory that is made on the way to
// one, and of what the plan shows by itself within one, the call's own path.
std::string FileLook::named_by(const NamedFile& file, const std::string& path) const {
  if (plan_.named.empty()) return "";
  std::string real = guard::resolve_path(path, "/");
  const bool changes = file.need == FileNeed::kCreate || file.need == FileNeed::kRemove ||
                       file.need == FileNeed::kReplace || file.creates;
  if (std::find(plan_.named.begin(), plan_.named.end(), real) != plan_.named.end()) return real;
  for (const std::string& named : plan_.named) {
    if (changes && named != "/" && is_below(real, named)) {
      const auto* const place = deepest_at(
          plan_.shown, real, [](const auto& shown) -> std::string_view { return shown.first; });
      const bool is_apart =
          place != nullptr && place->first != named && is_below(place->first, named);
      return is_apart ? real : named;
    }
    if (file.need == FileNeed::kCreate && is_below(named, real)) return real;
    // `sed -i`, or an editor's: of another program beside it, a name of its own.
    const bool is_successor = file.is_exclusive || names_after(real, named);
    if (file.creates && is_successor && parent_of(named) == parent_of(real)) return named;
    if (file.need == FileNeed::kLook && is_below(named, real)) return named;
  }
  return "";
}

// The denied program that `path` leads to, or nothing.
std::string FileLook::denied_program(std::string path) const {
  const auto known = [&](const std::string& real) {
    const auto& denied = plan_.denied_programs;
    return std::find(denied.begin(), denied.end(), real) != denied.end();
  };
  const OwnedFd file = open_cached(root_, path);
  if (!file.is_open()) {
    path = guard::resolve_path(path, "/");
    return known(path) ? path : "";
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  // A mask has no mode at all.
  if (plan_.wanted.has(Layer::kMount) && (info.st_mode & 0777) != 0) return {};
  std::string real = path_of(file.get());
  return known(real) ? real : "";
}

// --- what it answers: nothing, or the texts of a denial, each with its end ---

// No denial, and none will come: an empty message would look like the end.
constexpr std::string_view kAllIsOwn("\0\0", 2);

std::string answer_of(const std::optional<Denial>& denial) {
  if (!denial) return std::string(1, '\0');
  std::string answer;
  for (const std::string_view text :
       {refuser_name(denial->layer), std::string_view(denial->operation),
        std::string_view(denial->target), std::string_view(denial->program),
        std::string_view(denial->grant)}) {
    answer.append(text).push_back('\0');
  }
  return answer;
}

std::optional<Denial> denial_in(std::string_view answer) {
  const auto texts = split(answer, '\0');
  if (texts.size() != 6) return std::nullopt;
  const auto text = [&](std::size_t index) { return std::string(texts[index]); };
  const std::optional<Refuser> layer = refuser_of_name(texts[0]);
  if (!layer) return std::nullopt;
  return Denial{*layer, text(1), text(2), 1, text(3), text(4)};
}

// Whether an overlay lies over something that it cannot copy up: looked for between calls, once
// there were so many that it pays.
class Suspicion {
 public:
  explicit Suspicion(const LaunchPlan& plan)
      : look_(plan.overlays), is_open_(plan.reports_writes) {}

  void count_call() { ++calls_; }
  bool is_worth_a_look() const { return is_open_ && calls_ >= kCallsBefore; }
  bool is_refuted() const { return is_refuted_; }
  void look_on() {
    const std::optional<bool> found = look_.look(kAtOnce);
    if (!found) return;
    is_open_ = false;
    is_refuted_ = !*found;
  }

 private:
  static constexpr int kCallsBefore = 64;
  static constexpr std::size_t kAtOnce = 16;  // a call waits for that

  OwnerLook look_;
  bool is_open_;
  bool is_refuted_ = false;
  int calls_ = 0;
};

// To the end of the channel.
std::string answer_calls(int channel, const LaunchPlan& plan, const Policy& policy) {
  FileLook look(plan, policy);
  Suspicion suspicion(plan);
  sys::SeccompNotif call{};
  for (;;) {
    const bool looks_on = suspicion.is_worth_a_look();
    const ssize_t size = recv(channel, &call, sizeof call, looks_on ? MSG_DONTWAIT : 0);
    if (size < 0 && errno == EAGAIN && looks_on) {
      suspicion.look_on();
      continue;
    }
    if (size != ssize_t{sizeof call}) break;
    suspicion.count_call();
    std::string answer = answer_of(look.denial(call));
    if (answer.size() == 1 && suspicion.is_refuted()) answer = kAllIsOwn;
    if (send(channel, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
  }
  return {};
}

}  // namespace

FileReports::FileReports(const LaunchPlan& plan, const Policy& policy, const Refusals& refusals,
                         DenialLedger& denials, std::function<bool(int fd, bool on)> watch)
    : plan_(plan),
      policy_(policy),
      refusals_(refusals),
      denials_(denials),
      watch_(std::move(watch)) {}

void FileReports::look(const sys::SeccompNotif& call) {
  const bool is_settled = all_is_own_ && !policy_.sandbox.trace_denials && plan_.named.empty() &&
                          is_told_for_changes(call.data.nr);
  if (is_settled || failures_ >= kMostFailures || waiting_.size() >= kMostWaiting) {
    return refusals_.let_go_on(call.id);
  }
  waiting_.push_back(call);
  if (!due_) ask_next();
}

void FileReports::ask_next() {
  for (due_.reset(); !waiting_.empty(); waiting_.pop_front()) {
    const sys::SeccompNotif& call = waiting_.front();
    if (!refusals_.is_waiting(call.id)) continue;
    if (failures_ < kMostFailures && ask(call)) {
      due_ = Clock::now() + kLongestLook;
      return;
    }
    refusals_.let_go_on(call.id);
  }
}

bool FileReports::ask(const sys::SeccompNotif& call) {
  if (apart_ == nullptr) {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
      channel_.reset(ends[0]);
      const OwnedFd theirs(ends[1]);
      apart_ = Apart::start(
          {theirs.get()}, [&](Apart::Note&) { return answer_calls(theirs.get(), plan_, policy_); });
    }
    if (apart_ != nullptr && !watch_(channel_.get(), true)) apart_.reset();
  }
  if (apart_ != nullptr && send(channel_.get(), &call, sizeof call, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                               ssize_t{sizeof call}) {
    return true;
  }
  fail();
  return false;
}

void FileReports::step() {
  if (apart_ == nullptr) return;
  static std::array<char, kLongestAnswer> answer;
  const ssize_t size = recv(channel_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  const bool is_late = due_ && Clock::now() >= *due_;
  if (size < 0 && (errno == EAGAIN || errno == EINTR) && !is_late) return;
  if (size <= 0) fail();
  if (!due_) return;
  // Its caller still waits: the memory was its own.
  const std::uint64_t id = waiting_.front().id;
  all_is_own_ =
      all_is_own_ || std::string_view(answer.data(), std::max<ssize_t>(0, size)) == kAllIsOwn;
  if (size > 0 && refusals_.is_waiting(id)) {
    auto found = denial_in({answer.data(), static_cast<std::size_t>(size)});
    if (found) denials_.count(std::move(*found));
  }
  refusals_.let_go_on(id);
  waiting_.pop_front();
  ask_next();
}

void FileReports::fail() {
  ++failures_;
  end_apart();
}

void FileReports::end_apart() {
  if (channel_.is_open()) watch_(channel_.get(), false);
  channel_.reset();
  apart_.reset();
}

void FileReports::close() {
  failures_ = kMostFailures;
  end_apart();
  ask_next();
}

}  // namespace sbx
