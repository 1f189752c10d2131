// SPDX-License-Identifier: Apache-2.0
// Follower: a client's own place in a task's output → the events that it gets. It reads from the
// task's buffer at the client's speed: what a slow one misses is counted, not kept.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "session/task.h"

namespace re2 {
class RE2;
}

namespace sbx {

// What a client is told of a task or a run that it follows.
struct TaskEvent {
  enum class Kind : std::uint8_t { kOutput, kMatch, kCancelled, kExit };
  Kind kind = Kind::kOutput;
  const Task& task;
  std::string_view call_id = {};  // of a run, which has no id of its own: its caller's name for it
  // Of kOutput and kMatch:
  OutputChannel channel = OutputChannel::kOut;
  std::string_view text = {};
  std::uint64_t offset = 0;
  std::uint64_t dropped = 0;  // bytes before `offset` that were lost
};

class Follower {
 public:
  using Notify = std::function<void(const TaskEvent&)>;

  // `pattern` (RE2): only whole lines that match are told, as kMatch; empty: everything, as
  // kOutput. `call_id` names a run. Errors: kBadValue.
  static Result<Follower> make(std::string_view pattern, std::uint64_t since,
                               std::string call_id = {});
  ~Follower();
  Follower(Follower&&) noexcept;
  Follower& operator=(Follower&&) noexcept;

  // Tells the next piece of the output, at most 16 KiB of it. False when there is nothing to tell:
  // of an ended task the last line has been told then.
  bool tell(const Task& task, const Notify& notify);

 private:
  struct Line {
    std::string text;
    std::uint64_t offset = 0;
    bool is_torn = false;  // its beginning is lost
  };
  // Of a longer line only so much is looked at.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 10;

  Follower();
  void take_lines(const Task& task, const TaskOutput::Piece& piece, const Notify& notify);
  void end_line(const Task& task, OutputChannel channel, const Notify& notify);

  std::unique_ptr<re2::RE2> pattern_;
  std::string call_id_;
  std::uint64_t offset_ = 0;
  std::array<Line, 2> lines_;
};

}  // namespace sbx
