// SPDX-License-Identifier: Apache-2.0
#include "properties.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/percent.h"
#include "http/credentials.h"
#include "http/frames.h"
#include "http/message.h"
#include "http/redactor.h"
#include "http/target.h"

namespace sbx::http {
namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

// What was read and written again reads as the same.
void check_request(const Head& head) {
  const std::string text = request_text(head);
  const auto size = head_size(text);
  must(size.ok() && size.value() == text.size());
  const auto again = read_request(text);
  must(again.ok() && again.value().method == head.method && again.value().target == head.target &&
       again.value().body == head.body && again.value().length == head.length &&
       again.value().fields.size() == head.fields.size());
}

void check_answer(std::string_view bytes) {
  const auto size = head_size(bytes);
  if (!size.ok() || size.value() == 0) return;
  const auto head = read_response(bytes.substr(0, size.value()), "GET");
  if (!head.ok()) return;
  const std::string text = response_text(head.value());
  const auto again = read_response(text, "GET");
  must(again.ok() && again.value().status == head.value().status &&
       again.value().body == head.value().body);
}

// In one piece and byte by byte: the same data, and the same end.
void check_chunks(std::string_view bytes) {
  ChunkReader whole;
  std::string data;
  const auto used = whole.read(bytes, data, SIZE_MAX);
  ChunkReader slow;
  std::string slow_data;
  std::string held;
  bool failed = false;
  for (std::size_t i = 0; i < bytes.size() && !slow.is_done() && !failed; ++i) {
    held += bytes[i];
    const auto step = slow.read(held, slow_data, SIZE_MAX);
    failed = !step.ok();
    if (!failed) held.erase(0, step.value());
  }
  if (used.ok()) must(!failed && slow_data == data && slow.is_done() == whole.is_done());
}

}  // namespace

void check_message(std::string_view bytes) {
  check_answer(bytes);
  check_chunks(bytes);
  for (int i = 0; i < 16; ++i) {
    const auto size = head_size(bytes);
    if (!size.ok() || size.value() == 0) return;
    must(size.value() <= bytes.size() && size.value() <= kMostHead);
    const auto head = read_request(bytes.substr(0, size.value()));
    if (!head.ok()) return;
    must(!head.value().method.empty() && !head.value().target.empty());
    must(head.value().body != Body::kUntilEnd);
    check_request(head.value());
    bytes.remove_prefix(size.value());
  }
}

void check_target(std::string_view bytes) {
  const auto target = read_target(bytes);
  if (!target.ok()) return;
  const std::string& path = target.value().path;
  must(path.starts_with('/') && path.find("//") == std::string::npos);
  for (const auto& segments : {target.value().as_data, target.value().as_separator}) {
    for (const std::string& segment : segments) {
      const std::string decoded = percent_decoded(segment);
      must(decoded != "." && decoded != ".." && decoded.find('\0') == std::string::npos);
      must(segment.find('/') == std::string::npos && segment.find('\\') == std::string::npos);
    }
  }
  for (const char c : target.value().upstream) must(c > ' ' && c <= '~');
  // The normal form is its own.
  const auto again = read_target(path);
  must(again.ok() && again.value().path == path);
  must(matches_path(pattern_segments("/**", false), target.value().as_data));
}

void check_frames(std::string_view bytes) {
  const auto read = [&](std::size_t step) {
    Frames frames;
    std::string messages;
    std::string controls;
    std::string out;
    const auto pass = [&](std::string_view payload, Frames::Part part) -> Result<std::string> {
      (part == Frames::Part::kControl ? controls : messages) += payload;
      if (part == Frames::Part::kLast) messages += '\n';
      return std::string(payload);
    };
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      must(frames.feed(bytes.substr(i, step), out, pass).ok());
    }
    must(messages.size() + controls.size() <= 2 * bytes.size());
    return std::pair(messages, controls);
  };
  must(read(SIZE_MAX / 2) == read(1));
}

void check_redactor(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos || end == 0) return;
  const std::string secret(bytes.substr(0, end));
  const std::vector<Replacement> words = {{secret, std::string(secret.size(), '\x01')}};
  if (secret.find('\x01') != std::string::npos) return;
  const std::string_view text = bytes.substr(end + 1);
  const std::string whole = redacted(words, text);
  must(whole.size() == text.size() && whole.find(secret) == std::string::npos);
  Redactor slow(words);
  std::string out;
  for (const char c : text) out += slow.feed({&c, 1});
  out += slow.finish();
  must(out == whole);
}

}  // namespace sbx::http
