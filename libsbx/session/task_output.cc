// SPDX-License-Identifier: Apache-2.0
// Pieces of the two streams, tagged with their offsets, dropped at the front.
#include "session/task_output.h"

#include <algorithm>

#include "base/utf8.h"

namespace sbx {
namespace {

std::size_t after_first_newline(std::string_view text) {
  const std::size_t at = text.find('\n');
  return at == std::string_view::npos ? text.size() : at + 1;
}

}  // namespace

void TaskOutput::append(OutputChannel channel, std::string_view bytes) {
  Stream& to = stream(channel);
  std::string joined;
  if (!to.cut.empty()) {
    joined = std::exchange(to.cut, {});
    joined += bytes;
    bytes = joined;
  }
  const std::size_t cut = cut_character_suffix(bytes);
  to.cut.assign(bytes.substr(bytes.size() - cut));
  bytes.remove_suffix(cut);
  if (is_valid_utf8(bytes)) {
    keep(to, bytes);
  } else {
    keep(to, repair_utf8(bytes));
  }
}

void TaskOutput::finish() {
  for (Stream& each : streams_) keep(each, repair_utf8(std::exchange(each.cut, {})));
}

void TaskOutput::keep(Stream& to, std::string_view text) {
  while (!text.empty()) {
    const bool goes_on = !to.pieces.empty() && to.pieces.back().last() == end_ &&
                         to.pieces.back().text.size() < kPieceBytes;
    if (!goes_on) to.pieces.push_back({end_, {}, 0});
    std::string& last = to.pieces.back().text;
    std::size_t size = std::min(text.size(), kPieceBytes - last.size());
    // Pieces are cut between characters; one that hardly fits may be a little longer.
    if (size < text.size()) size += cut_character_prefix(text.substr(size));
    const std::string_view part = text.substr(0, size);
    last += part;
    to.kept += size;
    to.written += size;
    to.lines += std::count(part.begin(), part.end(), '\n');
    end_ += size;
    text.remove_prefix(size);
    enforce(to);
  }
}

void TaskOutput::enforce(Stream& to) {
  if (to.kept > limits_.stream_bytes) drop(to, to.kept - limits_.stream_bytes);
  if (to.pieces.size() > kMostPieces) {
    drop(to, to.pieces.front().text.size() - to.pieces.front().begin);
  }
  while (limits_.lines && streams_[0].count() + streams_[1].count() > *limits_.lines) {
    drop_oldest_line();
  }
}

void TaskOutput::lower_limit(std::size_t stream_bytes) {
  limits_.stream_bytes = std::min(limits_.stream_bytes, stream_bytes);
  for (Stream& each : streams_) enforce(each);
}

// Drops at least so many bytes, up to the end of a character.
void TaskOutput::drop(Stream& from, std::size_t bytes) {
  while (bytes > 0 && !from.pieces.empty()) {
    Kept& front = from.pieces.front();
    const std::string_view text = std::string_view(front.text).substr(front.begin);
    std::size_t size = std::min(bytes, text.size());
    bytes -= size;
    size += cut_character_prefix(text.substr(size));
    from.kept -= size;
    from.lines -= std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n');
    front.begin += size;
    if (front.begin == front.text.size()) from.pieces.pop_front();
  }
}

void TaskOutput::drop_oldest_line() {
  const auto first = [](const Stream& each) {
    return each.pieces.empty() ? UINT64_MAX : each.pieces.front().first();
  };
  Stream& oldest = first(streams_[0]) < first(streams_[1]) ? streams_[0] : streams_[1];
  for (const std::int64_t count = oldest.count(); oldest.count() == count && count > 0;) {
    const Kept& front = oldest.pieces.front();
    drop(oldest, after_first_newline(std::string_view(front.text).substr(front.begin)));
  }
}

std::deque<TaskOutput::Kept>::const_iterator TaskOutput::find(const Stream& from,
                                                              std::uint64_t since) {
  return std::upper_bound(
      from.pieces.begin(), from.pieces.end(), since,
      [](std::uint64_t offset, const Kept& piece) { return offset < piece.last(); });
}

TaskOutput::Text TaskOutput::read(std::uint64_t since) const {
  Text text;
  const auto collect = [since](const Stream& from, std::string& into) {
    for (auto piece = find(from, since); piece != from.pieces.end(); ++piece) {
      std::string_view part = std::string_view(piece->text).substr(piece->begin);
      if (since > piece->first()) {
        part.remove_prefix(since - piece->first());
        part.remove_prefix(cut_character_prefix(part));
      }
      into += part;
    }
  };
  collect(streams_[0], text.out);
  collect(streams_[1], text.err);
  text.next = end_;
  text.dropped = end_ - std::min(since, end_) - text.out.size() - text.err.size();
  return text;
}

TaskOutput::Piece TaskOutput::next_piece(std::uint64_t since) const {
  Piece best;
  best.offset = end_;
  for (const OutputChannel channel : {OutputChannel::kOut, OutputChannel::kErr}) {
    const auto piece = find(stream(channel), since);
    if (piece == stream(channel).pieces.end()) continue;
    std::string_view part = std::string_view(piece->text).substr(piece->begin);
    const std::uint64_t offset = std::max(since, piece->first());
    part.remove_prefix(offset - piece->first());
    if (part.empty() || offset >= best.offset) continue;
    best.channel = channel;
    best.text = part;
    best.offset = offset;
  }
  // An offset that nobody was given may lie within a character.
  const std::size_t rest = cut_character_prefix(best.text);
  best.text.remove_prefix(rest);
  best.offset += rest;
  best.dropped = best.offset - std::min(since, best.offset);
  return best;
}

}  // namespace sbx
