// SPDX-License-Identifier: Apache-2.0
// A head byte by byte, then payload as it comes.
#include "http/frames.h"

#include <algorithm>
#include <utility>

namespace sbx::http {
namespace {

constexpr unsigned char kFinal = 0x80;
constexpr unsigned char kExtensions = 0x70;
constexpr unsigned char kOpcode = 0x0f;
constexpr std::uint64_t kMostControl = 125;

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

// Two bytes say how many follow them.
std::size_t Frames::head_size() const {
  if (head_.size() < 2) return 2;
  const int length = byte_at(head_, 1) & 0x7f;
  const std::size_t extended = length == 126 ? 2 : length == 127 ? 8 : 0;
  return 2 + extended + ((byte_at(head_, 1) & 0x80) != 0 ? 4 : 0);
}

// Whether it is the head of a frame that may stand here.
bool Frames::begin_frame() {
  is_masked_ = (byte_at(head_, 1) & 0x80) != 0;
  first_ = byte_at(head_, 0);
  left_ = byte_at(head_, 1) & 0x7f;
  const std::size_t key_from = head_.size() - (is_masked_ ? key_.size() : 0);
  if (left_ >= 126) {
    left_ = 0;
    for (std::size_t i = 2; i < key_from; ++i) left_ = left_ << 8 | byte_at(head_, i);
  }
  if (is_masked_) std::copy_n(head_.data() + key_from, key_.size(), key_.data());
  key_at_ = 0;
  const int opcode = first_ & kOpcode;
  const bool is_last = (first_ & kFinal) != 0;
  if (left_ >> 63 != 0) return false;
  if (is_control()) return opcode <= 10 && left_ <= kMostControl && is_last;
  if (opcode > 2 || (opcode == 0) != is_in_message_) return false;
  // Bits of extensions, of which none was agreed on, go on as they are.
  if (opcode != 0) opcode_ = static_cast<unsigned char>(first_ & (kExtensions | kOpcode));
  is_in_message_ = !is_last;
  return true;
}

Status Frames::take_payload(std::string_view bytes, std::string& out, const Pass& pass) {
  std::string payload(bytes);
  if (is_masked_) {
    for (char& c : payload) c = static_cast<char>(c ^ key_[key_at_++ % key_.size()]);
  }
  left_ -= bytes.size();
  is_in_frame_ = left_ > 0;
  if (is_control()) {
    control_ += payload;
    if (is_in_frame_) return {};
    SBX_TRY(std::string passed, pass(control_, Part::kControl));
    control_.clear();
    append(out, first_, std::move(passed));
    return {};
  }
  const bool is_last = !is_in_frame_ && (first_ & kFinal) != 0;
  SBX_TRY(std::string passed, pass(payload, is_last ? Part::kLast : Part::kPiece));
  if (passed.empty() && !is_last) return {};
  append(out, static_cast<unsigned char>((is_last ? kFinal : 0) | opcode_), std::move(passed));
  opcode_ = 0;
  return {};
}

void Frames::append(std::string& out, unsigned char first, std::string payload) const {
  const std::uint64_t size = payload.size();
  const int mask = is_masked_ ? 0x80 : 0;
  out += static_cast<char>(first);
  const int extended = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
  out += static_cast<char>(mask | (extended == 0   ? static_cast<int>(size)
                                   : extended == 2 ? 126
                                                   : 127));
  for (int i = extended - 1; i >= 0; --i) out += static_cast<char>(size >> (8 * i) & 0xff);
  if (is_masked_) {
    out.append(key_.data(), key_.size());
    for (std::size_t i = 0; i < payload.size(); ++i) {
      payload[i] = static_cast<char>(payload[i] ^ key_[i % key_.size()]);
    }
  }
  out += payload;
}

Status Frames::feed(std::string_view bytes, std::string& out, const Pass& pass) {
  while (!bytes.empty() && !is_raw_) {
    if (is_in_frame_) {
      const std::size_t size = std::min<std::uint64_t>(left_, bytes.size());
      SBX_CHECK_OK(take_payload(bytes.substr(0, size), out, pass));
      bytes.remove_prefix(size);
      continue;
    }
    const std::size_t size = std::min(head_size() - head_.size(), bytes.size());
    head_ += bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (head_.size() < head_size()) continue;
    is_in_frame_ = begin_frame();
    is_raw_ = !is_in_frame_;
    if (is_raw_) break;
    head_.clear();
    if (left_ == 0) SBX_CHECK_OK(take_payload({}, out, pass));
  }
  if (!is_raw_) return {};
  SBX_TRY(const std::string passed, pass(std::exchange(head_, {}).append(bytes), Part::kPiece));
  out += passed;
  return {};
}

}  // namespace sbx::http
