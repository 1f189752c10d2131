// SPDX-License-Identifier: Apache-2.0
// Frames: one direction of a WebSocket (RFC 6455) → the same messages in frames of its own, their
// payload as it is given back; a word is found wherever frames cut it. From bytes on that are no
// frame, or one of an extension, all is one message without frames. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sbx::http {

class Frames {
 public:
  // kPiece: more of the message follows. kControl: a whole one of a ping, a pong or a farewell.
  enum class Part : std::uint8_t { kPiece, kLast, kControl };
  // Payload, unmasked → what goes on of it by now; that of a control frame is as long as before.
  using Pass = std::function<Result<std::string>(std::string_view payload, Part part)>;

  // Errors: those of `pass`, for good.
  Status feed(std::string_view bytes, std::string& out, const Pass& pass);

 private:
  std::size_t head_size() const;
  bool begin_frame();
  Status take_payload(std::string_view bytes, std::string& out, const Pass& pass);
  bool is_control() const { return (first_ & 8) != 0; }
  void append(std::string& out, unsigned char first, std::string payload) const;

  bool is_raw_ = false;
  std::string head_;  // of the next frame, as far as it is here
  bool is_in_frame_ = false;
  unsigned char first_ = 0;
  bool is_masked_ = false;
  std::uint64_t left_ = 0;
  std::array<char, 4> key_{};
  std::size_t key_at_ = 0;
  std::string control_;
  bool is_in_message_ = false;
  unsigned char opcode_ = 0;  // of the message, until it has been said
};

}  // namespace sbx::http
