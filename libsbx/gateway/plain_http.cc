// SPDX-License-Identifier: Apache-2.0
// Read as loosely as the loosest server does: what one of them would take for a request is one.
#include "gateway/plain_http.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "profile/forms.h"

namespace sbx {
namespace {

constexpr std::string_view kSpaces = " \t\v\f";
constexpr std::string_view kBlanks = " \t\v\f\r\n";  // of empty lines
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

// Behind whatever one of them takes for a blank: a lone CR, one beyond ASCII.
bool names_version(std::string_view line) {
  std::size_t at = 0;
  while ((at = line.find(kVersion, at + 1)) != std::string_view::npos) {
    if (line[at - 1] <= ' ' || line[at - 1] >= '\x7f') return true;
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
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  authority = authority.substr(0, authority.find_first_of(": \t\r", bracket));
  std::string host = lower_case(authority);
  if (host.ends_with('.')) host.pop_back();
  return host;
}

// The hosts of URLs that stand by themselves in what may be a request's line.
void read_targets(std::string_view line, std::vector<std::string>& hosts) {
  for (std::size_t at = 0; (at = line.find("://", at)) != std::string_view::npos; at += 3) {
    const std::string_view before = line.substr(0, at);
    const std::size_t word = before.find_last_of(kSpaces);
    if (word == std::string_view::npos || !forms::kToken.matches(before.substr(word + 1))) continue;
    const std::string_view rest = line.substr(at + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?# "));
    hosts.push_back(host_of(authority.substr(authority.rfind('@') + 1)));
  }
}

// `is_host`: whether the line before was a Host; then whether this one is.
void read_field(std::string_view line, bool& is_host, std::vector<std::string>& hosts) {
  const std::string_view text = skip(line, kSpaces);
  // A folded line goes on with the one before, or is one of its own.
  if (text.size() < line.size() && is_host) hosts.push_back(host_of(text));
  const std::size_t colon = text.find(':');
  is_host = colon != std::string_view::npos &&
            lower_case(text.substr(0, text.find_first_of(" \t\v\f:"))) == "host";
  if (is_host) hosts.push_back(host_of(text.substr(colon + 1)));
}

}  // namespace

PlainHttp read_plain_http(std::string_view bytes) {
  const std::string_view begun = skip(bytes, kBlanks);
  if (begun.empty()) {
    const bool is_long = bytes.size() > kMostBlank;
    return {is_long ? PlainHttp::State::kReading : PlainHttp::State::kBeginning};
  }
  std::size_t at = begun.find('\n');
  const std::string_view request = begun.substr(0, at);
  PlainHttp heard{read_line(request, at != std::string_view::npos)};
  if (heard.state != PlainHttp::State::kReading || at == std::string_view::npos) return heard;
  if (request.starts_with(kHttp2)) heard.hosts.emplace_back(kUnseenHosts);
  read_targets(request, heard.hosts);
  bool is_host = false;  // the line before
  for (;;) {
    const std::string_view rest = begun.substr(at + 1);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {PlainHttp::State::kReading};
    const std::string_view line = rest.substr(0, end);
    if (line.empty() || line == "\r") break;
    read_field(line, is_host, heard.hosts);
    at += end + 1;
  }
  heard.state = PlainHttp::State::kHead;
  return heard;
}

const std::string& RequestScan::feed(std::string_view bytes) {
  constexpr std::size_t kMostLine = std::size_t{16} << 10;
  constexpr std::size_t kKept = 1024;  // what is looked for is shorter
  if (line_.empty() && !is_http_) bytes = skip(bytes, kBlanks);
  while (!bytes.empty() && found_.empty() && !is_over_) {
    const std::size_t end = bytes.find('\n');
    append(bytes.substr(0, end));
    if (end == std::string_view::npos && line_.size() <= kMostLine) break;
    if (end == std::string_view::npos || is_cut_ || line_.find(kVersion) != std::string::npos) {
      look(line_);
    }
    if (end == std::string_view::npos) {
      if (!std::exchange(is_cut_, true)) read_head_line();
      line_.erase(0, line_.size() - kKept);
      break;
    }
    end_line();
    bytes.remove_prefix(end + 1);
  }
  return found_;
}

// A run of blanks is one: what stands behind it is not put out of sight.
void RequestScan::append(std::string_view part) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; };
  for (const char c : part) {
    if (!is_blank(c) || line_.empty() || !is_blank(line_.back())) line_ += c;
  }
}

void RequestScan::note(const std::vector<std::string>& hosts) {
  const auto found = std::find_if(hosts.begin(), hosts.end(), is_sought_);
  if (found != hosts.end() && found_.empty()) found_ = *found;
}

// At what only a request's line holds.
void RequestScan::look(std::string_view part) {
  names_version_ = names_version_ || names_version(part);
  std::vector<std::string> hosts;
  if (part.find(kHttp2) != std::string_view::npos) hosts.emplace_back(kUnseenHosts);
  read_targets(part, hosts);
  const auto found = std::find_if(hosts.begin(), hosts.end(), is_sought_);
  if (found != hosts.end() && target_.empty()) target_ = *found;
}

void RequestScan::read_head_line() {
  std::vector<std::string> hosts;
  if (is_in_head_) read_field(line_, is_host_, hosts);
  note(hosts);
}

void RequestScan::end_line() {
  if (!is_cut_) read_head_line();
  if (!is_cut_ && (line_.empty() || line_ == "\r")) is_in_head_ = false;
  if (names_version_) {
    note({target_});
    is_in_head_ = true;
    is_host_ = false;
  }
  is_http_ = is_http_ || names_version_;
  is_over_ = !is_http_;
  names_version_ = is_cut_ = false;
  target_.clear();
  line_.clear();
}

}  // namespace sbx
