// SPDX-License-Identifier: Apache-2.0
// The C functions: options and texts in, handles and codes out. No exception leaves.
#include "sbx.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "client.h"
#include "json/reader.h"
#include "json/scan.h"

// Part of a static libstdc++: frees what that holds back for exceptions without memory.
namespace __gnu_cxx {  // NOLINT(bugprone-reserved-identifier): theirs
void __freeres();      // NOLINT(bugprone-reserved-identifier)
}  // namespace __gnu_cxx

struct sbx_session {
  sbx_session(sbx::Helper helper, std::chrono::milliseconds patience)
      : client(std::move(helper), patience) {}
  sbx::Client client;
};

struct sbx_error {
  std::string code;
  std::string message;
  std::string where;
  std::string hint;
};

namespace {

using sbx::Error;
using sbx::ErrorCode;
using sbx::Result;
using sbx::Status;

constexpr std::int64_t kPatienceMs = 30'000;
constexpr std::int64_t kMostPatienceMs = 3'600'000;

struct Options {
  std::string program;
  std::chrono::milliseconds patience{kPatienceMs};
  std::vector<std::string> argv{"sbx-run", "serve"};
  std::vector<std::string> flags{};  // of argv, those that are options here
};

Error wrong_type(const std::string& key, const char* wanted) {
  return Error{ErrorCode::kWrongType, "\"" + key + "\" must be " + wanted, "/" + key, ""};
}

Error nul_byte(const std::string& key) {
  return Error{ErrorCode::kBadValue, "\"" + key + "\" holds a NUL byte", "/" + key, ""};
}

Result<Options> read_options(const char* text) {
  SBX_TRY(const nlohmann::json options, sbx::read_json_strict(text == nullptr ? "{}" : text));
  if (!options.is_object()) {
    return Error{ErrorCode::kWrongType, "the options must be an object", "", ""};
  }
  Options out;
  for (const auto& [key, value] : options.items()) {
    if (value.is_null()) continue;
    if (key == "profile" || key == "workspace" || key == "program") {
      if (!value.is_string()) return wrong_type(key, "a string");
      const auto string = value.get<std::string>();
      if (string.find('\0') != std::string::npos) return nul_byte(key);
      if (key == "program") {
        out.program = string;
      } else {
        if (string.empty()) {
          return Error{ErrorCode::kBadValue, "\"" + key + "\" is empty", "/" + key,
                       "name one, or leave it out"};
        }
        out.flags.push_back("--" + key);
        out.argv.push_back(out.flags.back() + "=" + string);
      }
    } else if (key == "flags") {
      if (!value.is_array()) return wrong_type(key, "an array of strings");
      for (const nlohmann::json& flag : value) {
        if (!flag.is_string()) return wrong_type(key, "an array of strings");
        out.argv.push_back(flag.get<std::string>());
        if (out.argv.back().find('\0') != std::string::npos) return nul_byte(key);
      }
    } else if (key == "server_timeout_ms") {
      if (!value.is_number_integer()) return wrong_type(key, "a whole number");
      const auto number = value.get<std::int64_t>();
      if (number < 1 || number > kMostPatienceMs) {
        return Error{ErrorCode::kOutOfRange, "\"server_timeout_ms\" must be 1 to 3600000",
                     "/server_timeout_ms", ""};
      }
      out.patience = std::chrono::milliseconds(number);
    } else {
      static constexpr std::string_view kKnown[] = {"profile", "workspace", "flags", "program",
                                                    "server_timeout_ms"};
      const auto nearest = sbx::nearest_name(key, kKnown);
      return Error{ErrorCode::kUnknownField, "unknown option \"" + key + "\"", "/" + key,
                   nearest ? "did you mean \"" + std::string(*nearest) + "\"?"
                           : "known are profile, workspace, flags, program and server_timeout_ms"};
    }
  }
  if (out.program.empty()) {
    SBX_TRY(out.program, sbx::find_program());
  }
  return out;
}

// What sbx-run says of a flag, said of the option that it was.
Error named_by_option(Error error, const Options& options) {
  const auto& flags = options.flags;
  if (std::find(flags.begin(), flags.end(), error.where) == flags.end()) return error;
  error.where.replace(0, 2, "/");
  if (error.code == ErrorCode::kBadFlag) error.code = ErrorCode::kBadValue;
  return error;
}

// What a call is made of: checked here, so that nothing but one line ever goes out. What its
// members mean, the session decides.
Result<std::string> one_line(const char* params) {
  std::string line = params == nullptr ? "{}" : params;
  sbx::JsonScan scan(line);
  const std::size_t text = sbx::valid_utf8_prefix(line);
  const bool is_text = text == line.size();
  if (!is_text || !scan.value() || (scan.skip_space(), !scan.at_end())) {
    const std::size_t byte = (is_text ? scan.position() : text) + 1;
    return Error{ErrorCode::kBadJson,
                 "params are not valid JSON (byte " + std::to_string(byte) + ")", "",
                 "one JSON object in UTF-8"};
  }
  if (line[line.find_first_not_of(" \t\r\n")] != '{') {
    return Error{ErrorCode::kWrongType, "params must be an object", "", ""};
  }
  // Valid JSON has line breaks only between its tokens.
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return line;
}

// A C string ends at a NUL, and an error may repeat one that a call held.
std::string whole(std::string text) {
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) {
    text.replace(at, 1, "\\x00");
  }
  return text;
}

int fail(const Error& error, sbx_error** out) {
  if (out != nullptr) {
    *out = new sbx_error{std::string(sbx::error_name(error.code)), whole(error.message),
                         whole(error.where), whole(error.hint)};
  }
  return -1;
}

char* copy(const std::string& text) {
  auto* const out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out == nullptr) throw std::bad_alloc();
  std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

// pthread_cancel() would unwind a thread through locks that others wait for: it takes effect after
// the call.
class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Runs `work`, which answers Result<int>; whatever is thrown becomes an error.
template <typename Work>
int guarded(sbx_error** error, Work work) noexcept {
  const Uncancelled uncancelled;
  try {
    Result<int> result = work();
    return result.ok() ? result.value() : fail(result.error(), error);
  } catch (const std::exception& thrown) {
    try {
      return fail(Error{ErrorCode::kInternal, thrown.what(), "", ""}, error);
    } catch (...) {
      return -1;
    }
  } catch (...) {
    return -1;
  }
}

Error bad_argument(const char* what) {
  return Error{ErrorCode::kBadValue, std::string(what) + " is NULL", what, ""};
}

// Each dlopen() would bring another.
[[gnu::destructor]] void free_reserve() { __gnu_cxx::__freeres(); }

}  // namespace

int sbx_open(const char* options_json, sbx_session** session, sbx_error** error) {
  return guarded(error, [&]() -> Result<int> {
    if (session == nullptr) return bad_argument("session");
    SBX_TRY(Options options, read_options(options_json));
    SBX_TRY(sbx::Helper helper, sbx::Helper::start(options.program, std::move(options.argv)));
    auto made = std::make_unique<sbx_session>(std::move(helper), options.patience);
    if (const Status opened = made->client.open(); !opened.ok()) {
      return named_by_option(opened.error(), options);
    }
    *session = made.release();
    return 0;
  });
}

int sbx_call(sbx_session* session, const char* method, const char* params_json, char** result_json,
             sbx_error** error) {
  return guarded(error, [&]() -> Result<int> {
    if (session == nullptr) return bad_argument("session");
    if (method == nullptr) return bad_argument("method");
    SBX_TRY(const std::string params, one_line(params_json));
    SBX_TRY(const std::string answer, session->client.call(method, params));
    if (result_json != nullptr) *result_json = copy(answer);
    return 0;
  });
}

int sbx_submit(sbx_session* session, const char* method, const char* params_json, uint64_t* id,
               sbx_error** error) {
  return guarded(error, [&]() -> Result<int> {
    if (session == nullptr) return bad_argument("session");
    if (method == nullptr) return bad_argument("method");
    if (id == nullptr) return bad_argument("id");
    SBX_TRY(const std::string params, one_line(params_json));
    SBX_TRY(*id, session->client.submit(method, params));
    return 0;
  });
}

int sbx_next(sbx_session* session, int timeout_ms, char** event_json, sbx_error** error) {
  return guarded(error, [&]() -> Result<int> {
    if (session == nullptr) return bad_argument("session");
    if (event_json == nullptr) return bad_argument("event_json");
    SBX_TRY(const std::optional<std::string> event, session->client.next(timeout_ms));
    if (!event) return 0;
    *event_json = copy(*event);
    return 1;
  });
}

int sbx_fd(const sbx_session* session) {
  return session == nullptr || !session->client.is_mine() ? -1 : session->client.poll_fd();
}

int sbx_cancel(sbx_session* session, uint64_t id, sbx_error** error) {
  return guarded(error, [&]() -> Result<int> {
    if (session == nullptr) return bad_argument("session");
    SBX_CHECK_OK(session->client.cancel(id));
    return 0;
  });
}

const char* sbx_operator_token(const sbx_session* session) {
  const bool is_mine = session != nullptr && session->client.is_mine();
  return is_mine ? session->client.token().c_str() : "";
}

void sbx_close(sbx_session* session) {
  if (session == nullptr) return;
  const Uncancelled uncancelled;
  // In a fork, threads that are no more may have held its locks: they cannot be destroyed.
  if (!session->client.is_mine()) return session->client.abandon();
  session->client.end();
  delete session;
}
void sbx_free(char* text) { std::free(text); }

const char* sbx_error_code(const sbx_error* error) {
  return error == nullptr ? "" : error->code.c_str();
}
const char* sbx_error_message(const sbx_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
const char* sbx_error_where(const sbx_error* error) {
  return error == nullptr ? "" : error->where.c_str();
}
const char* sbx_error_hint(const sbx_error* error) {
  return error == nullptr ? "" : error->hint.c_str();
}
void sbx_error_free(sbx_error* error) { delete error; }

const char* sbx_version(void) { return SBX_VERSION; }
int sbx_abi_version(void) { return SBX_ABI_VERSION; }
