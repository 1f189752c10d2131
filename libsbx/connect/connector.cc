// SPDX-License-Identifier: Apache-2.0
// One clone(2) a connect: no page tables are copied, and no descriptors but the two that it needs.
// Both sides take turns on one word; an eventfd and a futex tell whose turn it is.
#include "connect/connector.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{128} << 10;
constexpr std::size_t kMostSlots = 64;     // processes at once
constexpr std::size_t kMostWaiting = 512;  // calls that wait for one of them
// Looking waits for nobody, unless the command means it to.
constexpr std::chrono::seconds kLongestLook{10};
// Where calls wait for a process to end, or for its caller to go: neither makes an event.
constexpr std::chrono::milliseconds kRetry{2};
constexpr std::chrono::milliseconds kRetryBlocked{50};

enum Turn : std::uint32_t { kTold, kEnd, kFirstStep };  // then the steps

constexpr std::uint32_t turn_of(Connector::Step step) {
  return kFirstStep + static_cast<std::uint32_t>(step);
}

// Every descriptor but these goes, from a table of its own; without one nothing may be fetched.
// Some may be -1, the first is not.
bool keep_only(std::array<int, 3> kept) {
  std::sort(kept.begin(), kept.end());
  // Taking the end off first, the kernel does not even copy it.
  int end = kept.back();
  if (sys::call_without_errno(SYS_close_range, end + 1, ~0U, sys::kCloseRangeUnshare) != 0) {
    return false;
  }
  for (const int below : {kept[1], kept[0], -1}) {
    if (below + 1 < end && sys::call_without_errno(SYS_close_range, below + 1, end - 1, 0) != 0) {
      return false;
    }
    end = below;
  }
  return true;
}

}  // namespace

// At the low end of its own mapping, the stack above: it outlives the Connector where its process
// does.
struct Connector::Slot {
  enum class Phase : std::uint8_t { kFree, kTheirs, kOurs, kQueued, kLeaving };

  Errand errand;
  const UnixPeers* peers = nullptr;
  int events = -1;
  int diag = -1;
  pid_t parent = -1;
  pid_t pid = -1;
  std::atomic<std::uint32_t> turn{kTold};
  std::atomic<int> error{0};
  Phase phase = Phase::kFree;
  Step step = Step::kLook;
  Clock::time_point due;

  char* stack_end() { return reinterpret_cast<char*>(this) + kStackSize; }
};

void Connector::Unmap::operator()(Slot* slot) const { munmap(slot, kStackSize); }

Result<std::unique_ptr<Connector>> Connector::create(
    const UnixPeers& peers, std::function<bool(std::uint64_t)> is_waited_for) {
  bury();
  std::unique_ptr<Connector> made(new Connector(peers));
  made->is_waited_for_ = std::move(is_waited_for);
  made->events_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (made->events_.is_open()) return made;
  return call_failed(ErrorCode::kSetupFailed, "eventfd", "eventfd",
                     "raise the limit of open files (ulimit -n)");
}

// Those that were killed and had not ended yet. One whose file makes even its end wait stays here,
// with the memory that it may still write to.
std::vector<Connector::OwnedSlot>& Connector::graves() {
  static std::vector<OwnedSlot> slots;
  return slots;
}

void Connector::bury() {
  std::erase_if(graves(), [](const OwnedSlot& slot) { return has_ended(*slot); });
}

Connector::~Connector() {
  for (OwnedSlot& slot : slots_) {
    if (slot->phase == Slot::Phase::kFree) continue;
    kill(*slot);
    if (!has_ended(*slot)) graves().push_back(std::move(slot));
  }
  bury();
}

// In the process of its own: nothing here may touch what the other one uses, errno included.
int Connector::run(void* argument) {
  Slot& slot = *static_cast<Slot*>(argument);
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  sys::call_without_errno(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&kAll), 0,
                          sizeof kAll);
  sys::call_without_errno(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  // Set too late when the parent has died before.
  if (sys::call_without_errno(SYS_getppid) != slot.parent) return 0;
  const bool is_apart = keep_only({slot.events, slot.diag, slot.errand.call.listener});
  for (;;) {
    const std::uint32_t turn = slot.turn.load(std::memory_order_acquire);
    if (turn == kTold) {
      sys::futex(slot.turn, FUTEX_WAIT_PRIVATE, kTold);
      continue;
    }
    if (turn == kEnd) return 0;
    int error = ENOBUFS;
    if (is_apart && turn == turn_of(Step::kLook)) {
      const bool is_pair = slot.errand.call.listener >= 0;
      error = is_pair ? make_pair(slot.errand) : look(slot.errand, *slot.peers);
    }
    if (is_apart && turn == turn_of(Step::kFindOwner)) {
      error = find_owner(slot.errand, *slot.peers, slot.diag);
    }
    if (is_apart && turn == turn_of(Step::kConnect)) error = make_connect(slot.errand);
    if (turn == turn_of(Step::kRefuse)) error = slot.errand.refusal;
    // What else is held goes by the end of the process, which nobody waits for.
    const bool is_over = error != 0 || turn == turn_of(Step::kConnect);
    if (is_apart && is_over && slot.errand.socket >= 0) {
      sys::call_without_errno(SYS_close, slot.errand.socket);
    }
    slot.error.store(error, std::memory_order_relaxed);
    slot.turn.store(kTold, std::memory_order_release);
    constexpr std::uint64_t kOne = 1;
    sys::call_without_errno(SYS_write, slot.events, reinterpret_cast<long>(&kOne), sizeof kOne);
    if (is_over) return 0;
  }
}

bool Connector::has_ended(const Slot& slot) {
  return waitpid(slot.pid, nullptr, __WALL | WNOHANG) != 0;
}

void Connector::kill(Slot& slot) {
  ::kill(slot.pid, SIGKILL);  // nobody else waits for it: the number is still its own
  slot.phase = Slot::Phase::kLeaving;
}

Connector::Slot& Connector::slot_of(const Errand& errand) {
  return **std::find_if(slots_.begin(), slots_.end(),
                        [&](const OwnedSlot& slot) { return &slot->errand == &errand; });
}

Connector::Slot* Connector::free_slot() {
  for (const OwnedSlot& slot : slots_) {
    if (slot->phase == Slot::Phase::kLeaving && has_ended(*slot)) slot->phase = Slot::Phase::kFree;
  }
  for (const OwnedSlot& slot : slots_) {
    if (slot->phase == Slot::Phase::kFree) return slot.get();
  }
  if (slots_.size() < kMostSlots) {
    void* const memory = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    slots_.emplace_back(new (memory) Slot);
    return slots_.back().get();
  }
  for (const OwnedSlot& slot : slots_) {
    if (slot->phase != Slot::Phase::kLeaving && !is_waited_for_(slot->errand.call.id)) kill(*slot);
  }
  return nullptr;
}

int Connector::begin(Slot& slot, const ConnectCall& call) {
  new (&slot.errand) Errand{};
  slot.errand.call = call;
  slot.peers = &peers_;
  slot.events = events_.get();
  slot.diag = peers_.diag();
  slot.parent = sys::getpid_raw();
  slot.step = Step::kLook;
  slot.due = Clock::now() + kLongestLook;
  slot.turn.store(turn_of(Step::kLook));
  // No signal at its end: it is nobody else's to wait for.
  slot.pid = clone(&Connector::run, slot.stack_end(), CLONE_VM | CLONE_FILES, &slot);
  if (slot.pid < 0) return errno;
  slot.phase = Slot::Phase::kTheirs;
  return 0;
}

int Connector::start(const ConnectCall& call) {
  Slot* const slot = waiting_.empty() ? free_slot() : nullptr;
  if (slot != nullptr) return begin(*slot, call);
  if (waiting_.size() >= kMostWaiting) {
    std::erase_if(waiting_, [&](const ConnectCall& old) { return !is_waited_for_(old.id); });
  }
  if (waiting_.size() >= kMostWaiting) return EAGAIN;
  waiting_.push_back(call);
  if (!retry_at_) retry_at_ = Clock::now() + kRetry;
  return 0;
}

Errand* Connector::find(std::uint64_t id) {
  for (const OwnedSlot& slot : slots_) {
    if (slot->phase == Slot::Phase::kOurs && slot->errand.call.id == id) return &slot->errand;
  }
  return nullptr;
}

void Connector::go_on(const Errand& errand, Step step) {
  Slot& slot = slot_of(errand);
  slot.step = step;
  if (step != Step::kFindOwner) return hand_over(slot);
  slot.phase = Slot::Phase::kQueued;
  ask_next_owner();
}

// One question at a time: the answer comes in pieces, on a socket that all share.
void Connector::ask_next_owner() {
  Slot* next = nullptr;
  for (const OwnedSlot& slot : slots_) {
    if (slot->step != Step::kFindOwner) continue;
    if (slot->phase == Slot::Phase::kTheirs) return;
    if (slot->phase == Slot::Phase::kQueued) next = slot.get();
  }
  if (next != nullptr) hand_over(*next);
}

void Connector::hand_over(Slot& slot) {
  slot.phase = Slot::Phase::kTheirs;
  slot.due = Clock::now() + kLongestLook;
  slot.turn.store(turn_of(slot.step), std::memory_order_release);
  sys::futex(slot.turn, FUTEX_WAKE_PRIVATE, 1);
}

void Connector::refuse(Errand& errand, int error) {
  errand.refusal = error;
  go_on(errand, Step::kRefuse);
}

void Connector::end(const Errand& errand) {
  Slot& slot = slot_of(errand);
  slot.phase = Slot::Phase::kLeaving;
  slot.turn.store(kEnd, std::memory_order_release);
  sys::futex(slot.turn, FUTEX_WAKE_PRIVATE, 1);
}

int Connector::again(const Errand& errand) {
  const int error = start(errand.call);
  if (error == 0) end(errand);
  return error;
}

void Connector::start_waiting(const std::function<void(Errand&, Step, int)>& done) {
  while (!waiting_.empty()) {
    if (!is_waited_for_(waiting_.front().id)) {
      waiting_.pop_front();
      continue;
    }
    Slot* const slot = free_slot();
    if (slot == nullptr) break;
    const ConnectCall call = waiting_.front();
    waiting_.pop_front();
    if (const int error = begin(*slot, call); error != 0) done(slot->errand, Step::kLook, error);
  }
  retry_at_.reset();
  if (waiting_.empty()) return;
  const bool any_leaves = std::any_of(slots_.begin(), slots_.end(), [](const OwnedSlot& slot) {
    return slot->phase == Slot::Phase::kLeaving;
  });
  retry_at_ = Clock::now() + (any_leaves ? kRetry : kRetryBlocked);
}

// As long as the command makes it: only its own call waits.
bool Connector::may_wait(const Slot& slot) {
  return slot.step == Step::kConnect || slot.step == Step::kRefuse;
}

std::optional<Connector::Clock::time_point> Connector::deadline() const {
  std::optional<Clock::time_point> until = retry_at_;
  for (const OwnedSlot& slot : slots_) {
    if (slot->phase != Slot::Phase::kTheirs || may_wait(*slot)) continue;
    until = std::min(until.value_or(slot->due), slot->due);
  }
  return until;
}

void Connector::step(const std::function<void(Errand&, Step, int)>& done) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(events_.get(), &count, sizeof count);
  const auto now = Clock::now();
  for (std::size_t i = 0; i < slots_.size(); ++i) {  // `done` may add some
    Slot& slot = *slots_[i];
    if (slot.phase != Slot::Phase::kTheirs) continue;
    const bool has_told = slot.turn.load(std::memory_order_acquire) == kTold;
    const bool is_late = !has_told && !may_wait(slot) && now >= slot.due;
    if (!has_told && !is_late) continue;
    const Step step = slot.step;
    const int error = is_late ? ETIMEDOUT : slot.error.load(std::memory_order_relaxed);
    const bool is_over = error != 0 || step == Step::kConnect;
    if (is_late) kill(slot);
    slot.phase = is_over ? Slot::Phase::kLeaving : Slot::Phase::kOurs;
    done(slot.errand, step, error);
  }
  ask_next_owner();
  start_waiting(done);
}

}  // namespace sbx
