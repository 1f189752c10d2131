// SPDX-License-Identifier: Apache-2.0
// The order: what is always refused, whom it is for, where it leads, what the rules say, what it
// carries.
#include "http/judge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "http/target.h"
#include "json/writer.h"

namespace sbx::http {
namespace {

std::int64_t now_ms() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             system_clock::now().time_since_epoch())
      .count();
}

// A path in a rule is a pattern.
std::string rule_grant(const Peer& peer, std::string_view method, std::string_view path) {
  if (path.find('*') != std::string_view::npos) {
    return "network.http cannot name a path that holds a star without all that the star stands for";
  }
  return "network.http += {\"host\": " +
         json_string(peer.host() + ":" + std::to_string(peer.port)) + ", \"methods\": [" +
         json_string(method) + "], \"paths\": [" + json_string(path) + "]}";
}

// "Name:80", "name.", "[::1]" are as they are meant.
bool is_for(const Peer& peer, std::string_view authority) {
  std::string text = lower_case(authority);
  std::string port = std::to_string(peer.is_tls ? 443 : 80);
  const std::size_t colon = text.rfind(':');
  const bool is_bare_v6 = !text.starts_with('[') && text.find(':') != colon;
  if (colon != std::string::npos && !text.ends_with(']') && !is_bare_v6) {
    port = text.substr(colon + 1);
    text.resize(colon);
  }
  const bool is_in_brackets = text.starts_with('[') && text.ends_with(']');
  if (is_in_brackets && text.find(':') != std::string::npos) text = text.substr(1, text.size() - 2);
  if (text.ends_with('.')) text.pop_back();
  return text == peer.name && port == std::to_string(peer.port);
}

// An absolute form becomes the origin form where it is for this host.
bool take_origin_form(const Peer& peer, Head& head) {
  if (head.target.starts_with('/')) return true;
  const std::string scheme = peer.is_tls ? "https://" : "http://";
  if (lower_case(head.target.substr(0, scheme.size())) != scheme) return false;
  const std::string rest = head.target.substr(scheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  if (!is_for(peer, rest.substr(0, end))) return false;
  head.target = rest.substr(end);
  if (!head.target.starts_with('/')) head.target.insert(0, "/");
  return true;
}

Refusal foreign(const std::string& what) {
  return {403, what, "network.http has rules for the host of the connection alone"};
}

Refusal unrecorded() {
  return {403, "the run has made as many requests as can be recorded",
          "network.http lets none go on that is not recorded: another run has room again"};
}

std::optional<Refusal> check_addressee(const Peer& peer, Head& head) {
  if (head.method == "CONNECT" || head.method == "TRACE") {
    return Refusal{403, head.method + " is always refused",
                   "network.http allows no " + head.method};
  }
  const Field* const host = find_field(head.fields, "host");
  if (host == nullptr && head.minor == 1) return unreadable("there is no Host");
  if (host != nullptr && !is_for(peer, host->value)) {
    return foreign("the Host differs from the connection's, " + peer.authority());
  }
  if (!take_origin_form(peer, head)) {
    return head.target == "*" ? unreadable("the target * has no path")
                              : foreign("the target differs from the connection's host");
  }
  for (const std::string& word : list_of(head.fields, "connection")) {
    static constexpr auto kKnown =
        std::to_array<std::string_view>({"close", "keep-alive", "upgrade", "te", "http2-settings"});
    if (std::find(kKnown.begin(), kKnown.end(), word) == kKnown.end()) {
      return unreadable("the header Connection takes away " + word);
    }
  }
  return std::nullopt;
}

// Some servers go by these in place of the method and the path that were judged.
std::optional<Refusal> check_overrides(const Context& context, const Peer& peer,
                                       const Fields& fields) {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"x-http-method", "x-http-method-override",
                                       "x-method-override", "x-original-url", "x-rewrite-url"});
  if (!context.rules().limit_requests(peer.name, peer.port)) return std::nullopt;
  for (const Field& field : fields) {
    const std::string name = one_name(field.name);
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) {
      return unreadable("the header " + name + " may stand for another method or path");
    }
  }
  return std::nullopt;
}

// A WebSocket goes on; another protocol is not offered to the origin, which a server may do.
bool keep_upgrade(Head& head) {
  const Field* const upgrade = find_field(head.fields, "upgrade");
  if (upgrade == nullptr) return false;
  const bool is_websocket = head.method == "GET" && lower_case(upgrade->value) == "websocket" &&
                            find_field(head.fields, "sec-websocket-key") != nullptr &&
                            head.body == Body::kNone && head.minor == 1;
  if (is_websocket) return true;
  std::erase_if(head.fields, [](const Field& field) {
    return is_named(field, "upgrade") || is_named(field, "http2-settings");
  });
  for (Field& field : head.fields) {
    if (is_named(field, "connection")) field.value = head.keeps_alive ? "keep-alive" : "close";
  }
  return false;
}

// An answer that may hold a value must come in the plain.
void ask_for_plain(Head& head) {
  std::erase_if(head.fields, [](const Field& field) {
    return is_named(field, "accept-encoding") || is_named(field, "sec-websocket-extensions") ||
           (is_named(field, "te") && lower_case(field.value) != "trailers");
  });
  head.fields.push_back({"Accept-Encoding", "identity"});
}

}  // namespace

std::string Peer::host() const {
  return name.find(':') == std::string::npos ? name : "[" + name + "]";
}

std::string Peer::authority() const {
  return port == (is_tls ? 443 : 80) ? host() : host() + ":" + std::to_string(port);
}

std::string Peer::url(std::string_view path) const {
  // A target of another form, such as CONNECT has, is told behind a slash.
  const char* const slash = path.starts_with('/') ? "" : "/";
  return (is_tls ? "https://" : "http://") + authority() + slash + std::string(path);
}

Refusal unreadable(std::string reason) {
  return {400, std::move(reason), "network.http has no rule for what can be read in two ways"};
}

Refusal misplaced(const Peer& peer, const std::string& credential) {
  return {
      403,
      "the placeholder of the credential " + credential + " stands where its value does not belong",
      "network.credentials binds " + credential + " to one host and one place, not to this at " +
          peer.authority() + "; network.http does not change that"};
}

Refusal not_allowed(const Judged& judged) {
  return {403, "the operator was not there to allow it, or did not",
          "network.http" +
              judged.exchange.rule.substr(std::min<std::size_t>(judged.exchange.rule.rfind('/'),
                                                                judged.exchange.rule.size())) +
              ".ask = false"};
}

HttpExchange noted(const Peer& peer, std::string_view method, std::string_view target) {
  HttpExchange exchange;
  exchange.time_ms = now_ms();
  exchange.method = method;
  exchange.host = peer.name;
  exchange.path = target.substr(0, target.find('?'));
  return exchange;
}

Judged judge(Context& context, const Peer& peer, Head& head) {
  Judged judged;
  HttpExchange& exchange = judged.exchange;
  exchange = noted(peer, head.method, head.target);
  const auto refuse = [&](Refusal refusal) {
    // A path may hold the placeholder, or whatever else: it is told as it came.
    judged.url = peer.url(exchange.path);
    judged.refusal = std::move(refusal);
    return judged;
  };
  if (auto refusal = check_addressee(peer, head)) return refuse(std::move(*refusal));
  exchange.path = head.target.substr(0, head.target.find('?'));
  Result<Target> target = read_target(head.target);
  if (!target.ok()) return refuse(unreadable(target.error().message));
  exchange.path = target.value().path;
  judged.url = peer.url(exchange.path);
  const Verdict verdict = context.rules().judge(peer.name, peer.port, head.method, target.value());
  if (verdict.rule >= 0) exchange.rule = "/network/http/" + std::to_string(verdict.rule);
  if (verdict.kind == Verdict::Kind::kRefuse) {
    return refuse(
        {403, "no rule of network.http allows it", rule_grant(peer, head.method, exchange.path)});
  }
  if (auto refusal = check_overrides(context, peer, head.fields)) {
    return refuse(std::move(*refusal));
  }
  if (peer.is_full) return refuse(unrecorded());
  head.target = target.value().upstream;
  judged.is_websocket = keep_upgrade(head);
  const Credentials& credentials = context.credentials();
  if (auto name = credentials.find(head.method)) return refuse(misplaced(peer, *name));
  if (auto name = credentials.apply(peer.name, peer.port, peer.is_tls, head.fields, head.target)) {
    return refuse(misplaced(peer, *name));
  }
  if (credentials.is_searched()) ask_for_plain(head);
  judged.asks = verdict.kind == Verdict::Kind::kAsk;
  return judged;
}

std::optional<Refusal> judge_trailers(Context& context, const Peer& peer, const Fields& trailers) {
  if (const auto name = context.credentials().find_in(trailers)) return misplaced(peer, *name);
  return check_overrides(context, peer, trailers);
}

// npm shows the member `error` alone.
std::string refusal_json(const Peer& peer, const HttpExchange& exchange, const Refusal& refusal) {
  const std::string host = peer.authority();
  const std::string sentence = refusal.grant.empty()
                                   ? "the sandbox has no answer of " + host + ": " + refusal.reason
                                   : "refused by the sandbox's policy: " + refusal.reason +
                                         " (grant: " + refusal.grant + ")";
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  for (const auto& [key, value] : {std::pair<const char*, std::string_view>{"error", sentence},
                                   {"reason", refusal.reason},
                                   {"host", host},
                                   {"method", exchange.method},
                                   {"path", exchange.path},
                                   {"grant", refusal.grant}}) {
    json.key(key);
    json.string(value);
  }
  json.end_object();
  return text + "\n";
}

std::string_view refusal_type(const Fields& asked) {
  const Field* const agent = find_field(asked, "user-agent");
  const bool is_git = agent != nullptr && agent->value.starts_with("git/");
  return is_git ? "text/plain" : "application/json";
}

void tell_refusal(Context& context, const Peer& peer, std::size_t number, HttpExchange& exchange,
                  const Refusal& refusal) {
  exchange.status = refusal.status;
  context.tell_exchange(peer, number, exchange);
  tell_denial(context, peer, exchange, refusal);
}

void tell_denial(Context& context, const Peer& peer, HttpExchange exchange,
                 const Refusal& refusal) {
  cut(exchange);
  // What the origin did wrong is told with its reason; nobody could grant it.
  const std::string target = exchange.method + " " + peer.url(exchange.path);
  if (refusal.grant.empty()) {
    context.tell_denial(peer, "upstream", target + " (" + refusal.reason + ")", "");
  } else {
    context.tell_denial(peer, "http", target, refusal.grant);
  }
}

bool is_plain_body(const Fields& fields) {
  const std::vector<std::string> codings = list_of(fields, "content-encoding");
  return std::all_of(codings.begin(), codings.end(),
                     [](const std::string& coding) { return coding == "identity"; });
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 502:
      return "Bad Gateway";
    default:
      return "Forbidden";
  }
}

}  // namespace sbx::http
