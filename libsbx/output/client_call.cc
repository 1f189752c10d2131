// SPDX-License-Identifier: Apache-2.0
// By hand: which call a name makes depends on what stands behind it.
#include "output/client_call.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "output/assignment.h"

namespace sbx {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kLongestCall = 512;
constexpr std::size_t kShortestKey = 24;
constexpr std::size_t kLongestKey = 128;
constexpr double kLeastEntropy = 3.0;
constexpr std::size_t kNone = std::string_view::npos;

bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool is_name_char(char c) {
  return is_alphanumeric(c) || (c != '\0' && std::string_view("_-.:>\\").find(c) != kNone);
}

char at_or_nul(std::string_view text, std::size_t at) { return at < text.size() ? text[at] : '\0'; }

std::size_t skip_spaces(std::string_view line, std::size_t at) {
  while (at_or_nul(line, at) == ' ') ++at;
  return at;
}

std::size_t name_end(std::string_view line, std::size_t at) {
  const std::size_t most = std::min(line.size(), at + kLongestName);
  while (at < most && is_name_char(line[at])) ++at;
  return at;
}

// client.New, Twilio::REST::Client, createClient: what makes a client, rather than uses one.
bool makes_client(std::string_view name) {
  std::string last(name.substr(name.find_last_of(".:>\\") + 1));  // npos + 1 is 0
  for (char& c : last) c = is_upper(c) ? static_cast<char>(c | 0x20) : c;
  for (const std::string_view word :
       {"client", "create", "new", "init", "config", "setup", "connect", "auth", "api", "login"}) {
    if (last.find(word) != kNone) return true;
  }
  return false;
}

// Past the bracket that opens the call of the name around line[at], or of what is assigned to it.
std::size_t find_call(std::string_view line, std::size_t at) {
  const std::size_t end = name_end(line, at);
  if (at_or_nul(line, end) == '(') {
    const std::string_view name = line.substr(at, end - at);
    return name.find_first_of(".:>\\") == kNone || makes_client(name) ? end + 1 : kNone;
  }
  if (is_quote(at_or_nul(line, end)) && line.substr(end + 1, 2) == ")(") return end + 3;
  std::size_t place = skip_spaces(line, end);
  if (at_or_nul(line, place) == ':' && at_or_nul(line, place + 1) == '=') ++place;
  if (at_or_nul(line, place) != '=') return kNone;
  place = skip_spaces(line, place + 1);
  bool made = false;
  for (const std::string_view word : {"await ", "new "}) {
    if (!line.substr(place).starts_with(word)) continue;
    place = skip_spaces(line, place + word.size());
    made = word == "new ";
  }
  const std::size_t called = name_end(line, place);
  if (called == place || at_or_nul(line, called) != '(') return kNone;
  return made || makes_client(line.substr(place, called - place)) ? called + 1 : kNone;
}

// Letters and digits at random.
bool may_be_key(std::string_view value) {
  return value.size() >= kShortestKey && value.size() <= kLongestKey &&
         std::all_of(value.begin(), value.end(), is_alphanumeric) &&
         std::any_of(value.begin(), value.end(), is_digit) &&
         !std::all_of(value.begin(), value.end(), is_digit) && entropy_of(value) >= kLeastEntropy;
}

}  // namespace

std::vector<ClientKey> find_client_keys(std::string_view line, std::size_t at) {
  std::vector<ClientKey> keys;
  const std::size_t open = find_call(line, at);
  if (open == kNone) return keys;
  const std::size_t most = std::min(line.size(), open + kLongestCall);
  int depth = 1;
  for (std::size_t place = open; place < most && depth > 0; ++place) {
    const char c = line[place];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (!is_quote(c)) continue;
    const std::size_t close = line.find(c, place + 1);
    if (close == kNone) break;
    if (may_be_key(line.substr(place + 1, close - place - 1))) keys.push_back({place + 1, close});
    place = close;
  }
  return keys;
}

}  // namespace sbx
