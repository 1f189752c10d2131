// SPDX-License-Identifier: Apache-2.0
// Message: the bytes of HTTP/1 → heads, and bodies piece by piece, as strictly as RFC 9112 allows:
// whatever two parsers could frame differently is an error. A parser of our own, since those that
// distributions keep as libraries are unmaintained (http-parser) or lenient by design (llhttp,
// which comes with Node only): this one takes no line but CRLF, no folded header, no second length.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx::http {

struct Field {
  std::string name;  // as it was written
  std::string value;
};
using Fields = std::vector<Field>;

// Without case. The first; null: none.
const Field* find_field(const Fields& fields, std::string_view lower_name);
bool is_named(const Field& field, std::string_view lower_name);
// The name that some servers take for the same: without case, - for whatever is no letter or digit.
std::string one_name(std::string_view name);
// Of all fields of that name, a list of words in lower case.
std::vector<std::string> list_of(const Fields& fields, std::string_view lower_name);

// Whether no two of them, and none alone, could be read as what frames or addresses a message.
// Errors: kBadValue.
Status check_fields(const Fields& fields);
// The same of what follows a body, of which none may be read as such a field.
Status check_trailers(const Fields& fields);

enum class Body : std::uint8_t { kNone, kLength, kChunked, kUntilEnd };

struct Head {
  std::string method;  // of a request
  std::string target;
  int status = 0;  // of a response
  std::string reason;
  int minor = 1;
  Fields fields;
  Body body = Body::kNone;
  std::uint64_t length = 0;
  bool keeps_alive = true;  // what it says of the connection
};

inline constexpr int kMostInterim = 32;  // answers before the last
inline constexpr std::size_t kMostHead = std::size_t{64} << 10;

// Where the head at the front of `bytes` ends; 0: not here yet. Errors: kBadValue for what is no
// head, as soon as that can be told; kTooLarge.
Result<std::size_t> head_size(std::string_view bytes);
// `bytes` are exactly one head. Errors: kBadValue.
Result<Head> read_request(std::string_view bytes);
// `method`: of the request that it answers.
Result<Head> read_response(std::string_view bytes, std::string_view method);

// The head as it is sent on.
std::string request_text(const Head& head);
std::string response_text(const Head& head);

// A chunked body. Extensions of chunks are passed over.
class ChunkReader {
 public:
  // Takes from `bytes` what belongs to the body; the data is added to `out`, at most `most` bytes.
  // Errors: kBadValue, for good.
  Result<std::size_t> read(std::string_view bytes, std::string& out, std::size_t most);
  bool is_done() const { return state_ == State::kDone; }
  const Fields& trailers() const { return trailers_; }

 private:
  enum class State : std::uint8_t { kSize, kData, kDataEnd, kTrailers, kDone };
  State state_ = State::kSize;
  std::uint64_t left_ = 0;
  Fields trailers_;
};

// One chunk with its size (RFC 9112, 7.1); nothing for no data, since an empty chunk is the last.
std::string chunk_text(std::string_view data);
// The end of a chunked body.
std::string last_chunk_text(const Fields& trailers);

}  // namespace sbx::http
