// SPDX-License-Identifier: Apache-2.0
// Lines, then fields, then what they say of the body.
#include "http/message.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "base/hex.h"
#include "base/text.h"
#include "profile/forms.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostFields = 200;
constexpr std::size_t kMostChunkLine = 4096;
constexpr std::size_t kMostTrailers = 16384;

Error bad(std::string why) { return Error{ErrorCode::kBadValue, std::move(why), "message", ""}; }

bool is_token(std::string_view text) { return forms::kToken.matches(text); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_field_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

// Digits only, without overflow.
std::optional<std::uint64_t> read_length(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

constexpr auto kSingle = std::to_array<std::string_view>(
    {"host", "content-length", "transfer-encoding", "authorization", "content-type", "upgrade",
     "expect", "sec-websocket-key", "content-range", "range"});
constexpr auto kFraming = std::to_array<std::string_view>(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "trailer"});

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<Fields> read_fields(std::string_view lines) {
  Fields fields;
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return bad("a header line has no colon");
    const std::string_view name = line.substr(0, colon);
    if (!is_token(name)) return bad("a header's name is none");
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!is_field_text(value)) return bad("a header's value holds control bytes");
    fields.push_back({std::string(name), std::string(value)});
    if (fields.size() > kMostFields) return bad("there are more than 200 headers");
  }
  return fields;
}

Status read_framing(Head& head, bool is_request) {
  const Field* const length = find_field(head.fields, "content-length");
  const Field* const coding = find_field(head.fields, "transfer-encoding");
  if (length != nullptr && coding != nullptr) return bad("both a length and a transfer coding");
  if (coding != nullptr) {
    if (head.minor == 0) return bad("a transfer coding in HTTP/1.0");
    if (lower_case(coding->value) != "chunked") return bad("a transfer coding but chunked");
    head.body = Body::kChunked;
  } else if (length != nullptr) {
    const auto size = read_length(length->value);
    if (!size) return bad("a Content-Length that is no number");
    head.length = *size;
    head.body = *size > 0 ? Body::kLength : Body::kNone;
  } else {
    head.body = is_request ? Body::kNone : Body::kUntilEnd;
  }
  const std::vector<std::string> connection = list_of(head.fields, "connection");
  const auto says = [&](std::string_view word) {
    return std::find(connection.begin(), connection.end(), word) != connection.end();
  };
  head.keeps_alive = head.minor == 0 ? says("keep-alive") && !says("close") : !says("close");
  return {};
}

// "HTTP/1.0" or "HTTP/1.1".
std::optional<int> read_version(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  return std::nullopt;
}

Result<Head> read_rest(Head head, std::string_view lines, bool is_request) {
  // The last two bytes end the head.
  SBX_TRY(head.fields, read_fields(lines.substr(0, lines.size() - 2)));
  SBX_CHECK_OK(check_fields(head.fields));
  SBX_CHECK_OK(read_framing(head, is_request));
  return head;
}

std::string fields_text(const Fields& fields) {
  std::string text;
  for (const Field& field : fields) text += field.name + ": " + field.value + "\r\n";
  return text + "\r\n";
}

}  // namespace

bool is_named(const Field& field, std::string_view lower_name) {
  return field.name.size() == lower_name.size() && lower_case(field.name) == lower_name;
}

std::string one_name(std::string_view name) {
  std::string out = lower_case(name);
  const auto is_mark = [](char c) { return !is_lower(c) && !is_digit(c); };
  std::replace_if(out.begin(), out.end(), is_mark, '-');
  return out;
}

const Field* find_field(const Fields& fields, std::string_view lower_name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return is_named(field, lower_name); });
  return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string> list_of(const Fields& fields, std::string_view lower_name) {
  std::vector<std::string> words;
  for (const Field& field : fields) {
    if (!is_named(field, lower_name)) continue;
    for (const std::string_view word : split(field.value, ',')) {
      if (!trimmed(word).empty()) words.push_back(lower_case(trimmed(word)));
    }
  }
  return words;
}

// Two spellings of one name, or two of what stands once.
Status check_fields(const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string name = lower_case(fields[i].name);
    const std::string one = one_name(name);
    if (one != name && is_one_of(kFraming, one)) return bad("a header reads as " + one);
    for (std::size_t j = 0; j < i; ++j) {
      const std::string other = lower_case(fields[j].name);
      if (one_name(other) != one) continue;
      if (other != name) return bad("two headers read as " + one);
      if (is_one_of(kSingle, name)) return bad("the header " + name + " stands twice");
    }
  }
  return {};
}

Status check_trailers(const Fields& fields) {
  SBX_CHECK_OK(check_fields(fields));
  for (const Field& field : fields) {
    if (is_one_of(kFraming, lower_case(field.name))) return bad("a trailer that frames");
  }
  return {};
}

Result<std::size_t> head_size(std::string_view bytes) {
  std::size_t from = 0;
  for (;;) {
    const std::size_t at = bytes.find('\n', from);
    if (at == std::string_view::npos) break;
    if (at == 0 || bytes[at - 1] != '\r') return bad("a line ends without CR");
    if (at == 1) return bad("an empty line where a head should be");
    if (at >= 3 && bytes.substr(at - 3, 4) == "\r\n\r\n") {
      if (at + 1 > kMostHead) break;
      return at + 1;
    }
    from = at + 1;
  }
  if (bytes.size() > kMostHead) {
    return Error{ErrorCode::kTooLarge, "the head is larger than 64 KiB", "message", ""};
  }
  return std::size_t{0};
}

Result<Head> read_request(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  const std::vector<std::string_view> words = split(bytes.substr(0, end), ' ');
  if (words.size() != 3 || words[1].empty()) return bad("a request line of another form");
  const auto minor = read_version(words[2]);
  if (!minor) return bad("a version but HTTP/1.1 and 1.0");
  if (!is_token(words[0])) return bad("a method that is none");
  Head head;
  head.method = words[0];
  head.target = words[1];
  head.minor = *minor;
  return read_rest(std::move(head), bytes.substr(end + 2), true);
}

Result<Head> read_response(std::string_view bytes, std::string_view method) {
  const std::size_t end = bytes.find("\r\n");
  const std::string_view line = bytes.substr(0, end);
  const auto minor = read_version(line.substr(0, 8));
  const std::string_view code = line.size() >= 12 ? line.substr(9, 3) : std::string_view();
  const auto status = parse_count(code, 999);
  if (!minor || !status || *status < 100 || line[8] != ' ' ||
      (line.size() > 12 && line[12] != ' ') || !is_field_text(line)) {
    return bad("a status line of another form");
  }
  Head head;
  head.minor = *minor;
  head.status = static_cast<int>(*status);
  head.reason = line.size() > 13 ? line.substr(13) : std::string_view();
  SBX_TRY(head, read_rest(std::move(head), bytes.substr(end + 2), false));
  const bool is_bodiless = head.status < 200 || head.status == 204 || head.status == 304;
  if (is_bodiless && head.status != 304 && (head.body == Body::kChunked || head.length > 0)) {
    return bad("a body where there is none");
  }
  if (is_bodiless || method == "HEAD") head.body = Body::kNone;
  if (head.body == Body::kUntilEnd) head.keeps_alive = false;
  return head;
}

std::string request_text(const Head& head) {
  return head.method + " " + head.target + " HTTP/1." + std::to_string(head.minor) + "\r\n" +
         fields_text(head.fields);
}

std::string response_text(const Head& head) {
  return "HTTP/1." + std::to_string(head.minor) + " " + std::to_string(head.status) + " " +
         head.reason + "\r\n" + fields_text(head.fields);
}

Result<std::size_t> ChunkReader::read(std::string_view bytes, std::string& out, std::size_t most) {
  std::size_t used = 0;
  while (state_ != State::kDone && most > 0) {
    const std::string_view rest = bytes.substr(used);
    if (state_ == State::kData) {
      const std::size_t size = std::min<std::uint64_t>({left_, rest.size(), most});
      if (size == 0) return used;
      out += rest.substr(0, size);
      used += size;
      most -= size;
      left_ -= size;
      if (left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    if (state_ == State::kDataEnd) {
      if (rest.size() < 2) {
        if (rest == "\r" || rest.empty()) return used;
        return bad("a chunk is longer than its size");
      }
      if (!rest.starts_with("\r\n")) return bad("a chunk is longer than its size");
      used += 2;
      state_ = State::kSize;
      continue;
    }
    if (state_ == State::kTrailers) {
      if (rest.starts_with("\r\n")) {
        used += 2;
        state_ = State::kDone;
        continue;
      }
      if (rest.size() < 2) return used;
      const auto size = head_size(rest);
      if (!size.ok()) return size.error();
      if (size.value() == 0) {
        if (rest.size() > kMostTrailers) return bad("trailers are too large");
        return used;
      }
      SBX_TRY(trailers_, read_fields(rest.substr(0, size.value() - 2)));
      SBX_CHECK_OK(check_trailers(trailers_));
      used += size.value();
      state_ = State::kDone;
      continue;
    }
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      if (rest.size() > kMostChunkLine) return bad("a chunk's size is too long");
      return used;
    }
    if (end > kMostChunkLine || end == 0 || rest[end - 1] != '\r') return bad("a bad chunk size");
    const std::string_view line = rest.substr(0, end - 1);
    const std::size_t digits = line.find_first_not_of("0123456789abcdefABCDEF");
    const std::string_view number = line.substr(0, digits);
    const bool has_rest = digits != std::string_view::npos;
    if (number.empty() || number.size() > 15 || (has_rest && line[digits] != ';') ||
        !is_field_text(line)) {
      return bad("a bad chunk size");
    }
    left_ = 0;
    for (const char c : number) left_ = left_ * 16 + static_cast<std::uint64_t>(hex_value(c));
    used += end + 1;
    state_ = left_ == 0 ? State::kTrailers : State::kData;
  }
  return used;
}

std::string chunk_text(std::string_view data) {
  if (data.empty()) return {};
  std::string size;
  for (std::size_t n = data.size(); n > 0; n /= 16) size.insert(size.begin(), kHexDigits[n % 16]);
  std::string text = std::move(size) + "\r\n";
  text += data;
  return text + "\r\n";
}

std::string last_chunk_text(const Fields& trailers) { return "0\r\n" + fields_text(trailers); }

}  // namespace sbx::http
