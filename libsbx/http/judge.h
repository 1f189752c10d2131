// SPDX-License-Identifier: Apache-2.0
// Judge: the head of a request → allowed, with values put in; to be asked about; or refused, with
// what is told of it. For HTTP/1 and HTTP/2 alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/authority.h"
#include "http/credentials.h"
#include "http/message.h"
#include "http/rules.h"
#include "model/denial.h"
#include "model/outcome.h"

namespace sbx::http {

// What a connection leads to.
struct Peer {
  std::uint32_t id = 0;
  std::string name;  // lower case, or a literal address
  int port = 0;
  bool is_tls = false;
  bool is_full = false;  // its run can record no further request

  // "https://name/path", the port where it is not the scheme's own.
  std::string url(std::string_view path) const;
  std::string host() const;       // "name", "[address]"
  std::string authority() const;  // as host(), with the port where it is not the scheme's own
};

struct Refusal {
  int status = 403;
  std::string reason;
  std::string grant;  // empty: nothing would allow it
};

struct Judged {
  HttpExchange exchange;
  std::optional<Refusal> refusal;
  bool asks = false;          // before it may go on
  std::string url;            // without the query
  bool is_websocket = false;  // it asks for one
};

// What all connections share, and where they tell of what happens.
class Context {
 public:
  virtual ~Context() = default;
  virtual Loop& loop() = 0;
  virtual const Rules& rules() const = 0;
  // With values that are no older than they may be.
  virtual Credentials& credentials() = 0;
  virtual Authority& authority() = 0;

  virtual void tell_exchange(const Peer& peer, std::size_t number,
                             const HttpExchange& exchange) = 0;
  virtual void tell_denial(const Peer& peer, const std::string& operation,
                           const std::string& target, const std::string& grant) = 0;
  // Answers once, later; at once where the loop is not asked. For withdraw().
  using Answer = std::function<void(bool is_allowed)>;
  virtual std::uint64_t ask(const Peer& peer, const Judged& judged, const std::string& size,
                            Answer answer) = 0;
  // Nobody waits for the answer any more, if there was none.
  virtual void withdraw(std::uint64_t question) = 0;
  // Calls back when a value that is too old has been renewed; at once where none is.
  virtual void renew_values(const Peer& peer, std::function<void()> then) = 0;
};

// What is recorded of a request before it is looked at.
HttpExchange noted(const Peer& peer, std::string_view method, std::string_view target);
// `head` becomes what goes upstream. A refusal is not told yet.
Judged judge(Context& context, const Peer& peer, Head& head);
// Of what follows the body.
std::optional<Refusal> judge_trailers(Context& context, const Peer& peer, const Fields& trailers);
// A request that cannot be read, or is refused for what follows its head.
Refusal unreadable(std::string reason);
Refusal misplaced(const Peer& peer, const std::string& credential);
// The operator's answer, or that there was none.
Refusal not_allowed(const Judged& judged);

// The body that a program is shown for it.
std::string refusal_json(const Peer& peer, const HttpExchange& exchange, const Refusal& refusal);
// Its content type: git shows people what is plain text, and nothing else. `asked`: of the request.
std::string_view refusal_type(const Fields& asked);
// To the record and the denials.
void tell_refusal(Context& context, const Peer& peer, std::size_t number, HttpExchange& exchange,
                  const Refusal& refusal);
// To the denials alone.
void tell_denial(Context& context, const Peer& peer, HttpExchange exchange, const Refusal& refusal);

// Whether the answer can be read for values: nothing hides its body.
bool is_plain_body(const Fields& fields);

// What may follow "HTTP/1.1 403 ".
std::string_view reason_phrase(int status);

}  // namespace sbx::http
