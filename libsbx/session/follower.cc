// SPDX-License-Identifier: Apache-2.0
// Pieces of output, or its lines, as events.
#include "session/follower.h"

#include <re2/re2.h>

#include <algorithm>

namespace sbx {
namespace {

constexpr std::size_t kLongestPattern = 4096;
// RE2's own count. A line can take so many steps for each of its bytes, all of it at a time in
// which nobody else is answered. `\pL` alone has 1197.
constexpr int kLargestProgram = 1500;

}  // namespace

Follower::Follower() = default;
Follower::~Follower() = default;
Follower::Follower(Follower&&) noexcept = default;
Follower& Follower::operator=(Follower&&) noexcept = default;

Result<Follower> Follower::make(std::string_view pattern, std::uint64_t since,
                                std::string call_id) {
  Follower follower;
  follower.offset_ = since;
  follower.call_id_ = std::move(call_id);
  if (pattern.empty()) return follower;
  if (pattern.size() > kLongestPattern) {
    return Error{ErrorCode::kBadValue, "a pattern of more than 4096 bytes", "/match",
                 "use a shorter one"};
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{1} << 20);
  follower.pattern_ =
      std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!follower.pattern_->ok()) {
    return Error{ErrorCode::kBadValue, "not an RE2 expression: " + follower.pattern_->error(),
                 "/match", "RE2 has no lookaround and no backreferences"};
  }
  if (follower.pattern_->ProgramSize() > kLargestProgram) {
    return Error{ErrorCode::kBadValue, "an expression that takes too long to match", "/match",
                 "repeat less: {1,30} is as large as what it repeats, thirty times"};
  }
  return follower;
}

bool Follower::tell(const Task& task, const Notify& notify) {
  const TaskOutput::Piece piece = task.output().next_piece(offset_);
  if (piece.text.empty()) {
    offset_ = piece.offset;
    if (task.is_running()) return false;
    for (const OutputChannel channel : {OutputChannel::kOut, OutputChannel::kErr}) {
      const bool is_begun = !lines_[static_cast<std::size_t>(channel)].text.empty();
      if (is_begun) end_line(task, channel, notify);
    }
    return false;
  }
  offset_ = piece.offset + piece.text.size();
  if (pattern_ == nullptr) {
    notify({TaskEvent::Kind::kOutput, task, call_id_, piece.channel, piece.text, piece.offset,
            piece.dropped});
  } else {
    take_lines(task, piece, notify);
  }
  return true;
}

void Follower::take_lines(const Task& task, const TaskOutput::Piece& piece, const Notify& notify) {
  if (piece.dropped > 0) {
    // Which stream it is missing from is not known: no line that was begun is whole for certain.
    for (Line& line : lines_) line = {{}, 0, true};
  }
  Line& line = lines_[static_cast<std::size_t>(piece.channel)];
  std::uint64_t offset = piece.offset;
  for (std::string_view rest = piece.text; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    const std::string_view part = rest.substr(0, newline);
    if (line.text.empty()) line.offset = offset;
    line.text += part.substr(0, kLongestLine - std::min(line.text.size(), kLongestLine));
    if (newline == std::string_view::npos) return;
    end_line(task, piece.channel, notify);
    rest.remove_prefix(newline + 1);
    offset += newline + 1;
  }
}

void Follower::end_line(const Task& task, OutputChannel channel, const Notify& notify) {
  Line& line = lines_[static_cast<std::size_t>(channel)];
  const bool is_match = !line.is_torn && re2::RE2::PartialMatch(line.text, *pattern_);
  if (is_match) {
    notify({TaskEvent::Kind::kMatch, task, call_id_, channel, line.text, line.offset});
  }
  line = {};
}

}  // namespace sbx
