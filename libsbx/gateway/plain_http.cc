// SPDX-License-Identifier: Apache-2.0
// Read as loosely as the loosest server does: what one of them would take for a request is one.
#include "gateway/plain_http.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "profile/forms.h"

namespace sbx {
namespace {

constexpr std::string_view kSpaces = " \t\v\f";
constexpr std::string_view kVersion = "HTTP/";
constexpr std::string_view kHttp2 = "PRI * HTTP/2.0";  // RFC 9113, section 3.4
constexpr std::size_t kLongestMethod = 256;
constexpr std::size_t kMostBlank = 256;  // bytes of empty lines before it

std::string_view skip(std::string_view text, std::string_view what) {
  return text.substr(std::min(text.find_first_not_of(what), text.size()));
}

// Of a target that is no path only a version can follow, unless it may be a URL.
bool may_follow(std::string_view target, std::string_view rest) {
  const bool is_path = target.front() == '/' || target.front() == '*';
  if (!is_path && std::isalnum(static_cast<unsigned char>(target.front())) == 0) return false;
  if (is_path || target.find(':') != std::string_view::npos) return true;
  const std::string_view next = skip(rest, kSpaces);
  return kVersion.starts_with(next) || next.starts_with(kVersion);
}

bool names_version(std::string_view line) {
  std::size_t at = 0;
  while ((at = line.find(kVersion, at + 1)) != std::string_view::npos) {
    if (kSpaces.find(line[at - 1]) != std::string_view::npos) return true;
  }
  return false;
}

// `line` may still go on where nothing has ended it.
PlainHttp::State read_line(std::string_view line, bool has_ended) {
  using State = PlainHttp::State;
  const std::string_view method = line.substr(0, line.find_first_of(kSpaces));
  if (!forms::kToken.matches(method) || method.size() > kLongestMethod) return State::kOther;
  if (has_ended && !names_version(line)) return State::kOther;
  if (method.size() == line.size()) return State::kBeginning;
  const std::string_view rest = skip(line.substr(method.size()), kSpaces);
  const std::string_view target = rest.substr(0, rest.find_first_of(kSpaces));
  const bool is_one = target.empty() || may_follow(target, rest.substr(target.size()));
  return is_one ? State::kReading : State::kOther;
}

std::string host_of(std::string_view authority) {
  authority = skip(authority, kSpaces);
  if (!authority.starts_with('['))
    authority = authority.substr(0, authority.find_first_of(": \t\r"));
  std::string host = lower_case(authority);
  if (host.ends_with('.')) host.pop_back();
  return host;
}

}  // namespace

PlainHttp read_plain_http(std::string_view bytes) {
  const std::string_view begun = skip(bytes, " \t\v\f\r\n");
  if (begun.empty()) {
    const bool is_long = bytes.size() > kMostBlank;
    return {is_long ? PlainHttp::State::kReading : PlainHttp::State::kBeginning};
  }
  std::size_t at = begun.find('\n');
  const std::string_view request = begun.substr(0, at);
  PlainHttp heard{read_line(request, at != std::string_view::npos)};
  if (heard.state != PlainHttp::State::kReading || at == std::string_view::npos) return heard;
  if (request.starts_with(kHttp2)) heard.hosts.emplace_back(kUnseenHosts);
  const std::string_view target = skip(request.substr(request.find_first_of(kSpaces)), kSpaces);
  if (lower_case(target.substr(0, 7)) == "http://") {
    heard.hosts.push_back(host_of(target.substr(7, target.find_first_of("/? ", 7) - 7)));
  }
  bool is_host = false;  // the line before
  for (;;) {
    const std::string_view rest = begun.substr(at + 1);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {PlainHttp::State::kReading};
    const std::string_view line = rest.substr(0, end);
    if (line.empty() || line == "\r") break;
    const std::string_view text = skip(line, kSpaces);
    // A folded line goes on with the one before, or is one of its own.
    if (text.size() < line.size() && is_host) heard.hosts.push_back(host_of(text));
    const std::size_t colon = text.find(':');
    is_host = colon != std::string_view::npos &&
              lower_case(text.substr(0, text.find_first_of(" \t\v\f:"))) == "host";
    if (is_host) heard.hosts.push_back(host_of(text.substr(colon + 1)));
    at += end + 1;
  }
  heard.state = PlainHttp::State::kHead;
  return heard;
}

}  // namespace sbx
