// SPDX-License-Identifier: Apache-2.0
// Where a placeholder stands whole, and in a form that is known, the value takes its place.
// Whatever is left of it afterwards is where it must not be.
#include "http/credentials.h"

#include <algorithm>
#include <array>

#include "base/percent.h"
#include "base/text.h"
#include "http/rules.h"
#include "http/spellings.h"
#include "json/base64.h"

namespace sbx::http {
namespace {

// Of what a value was before; nobody keeps one that was replaced so often.
constexpr std::size_t kMostEarlier = 64;
constexpr std::size_t kMostEarlierForms = 256;

constexpr std::string_view kVariable = "${secret}";

// Of vendors whose clients look at it; the longest that fits counts.
constexpr auto kPrefixes = std::to_array<std::string_view>(
    {"github_pat_", "ghp_",        "gho_",  "ghu_",       "ghs_",          "ghr_",
     "glpat-",      "gldt-",       "npm_",  "pypi-",      "sk-ant-api03-", "sk-ant-",
     "sk-proj-",    "sk-svcacct-", "sk-",   "sk_live_",   "sk_test_",      "rk_live_",
     "pk_live_",    "pk_test_",    "xoxb-", "xoxp-",      "xoxa-",         "xapp-",
     "AKIA",        "ASIA",        "AIza",  "ya29.",      "hf_",           "dop_v1_",
     "SG.",         "key-",        "cio",   "crates-io_", "lin_api_",      "figd_",
     "r8_",         "gsk_",        "tvly-", "pplx-",      "shpat_",        "sq0atp-",
     "EAAA",        "dckr_pat_",   "pat-",  "ATATT3x",    "whsec_",        "sntrys_",
     "hvs.",        "eyJ"});

std::string_view prefix_of(std::string_view secret) {
  std::string_view best;
  for (const std::string_view prefix : kPrefixes) {
    if (secret.starts_with(prefix) && prefix.size() > best.size()) best = prefix;
  }
  return best;
}

bool is_in(char c, char from, char to) { return c >= from && c <= to; }

// Between the parts of a token, as its shape has them; they tell nothing.
bool is_mark(char c) { return std::string_view("-_.~+/=: ").find(c) != std::string_view::npos; }

// Another letter of the same kind; a small one for what is no letter. Without bias where 256 is no
// multiple: bytes beyond are not used.
char like(char c, bool is_hex, void (*random)(unsigned char*, std::size_t)) {
  const auto pick = [&](char from, int count) {
    for (;;) {
      unsigned char byte = 0;
      random(&byte, 1);
      if (byte < 256 / count * count) return static_cast<char>(from + byte % count);
    }
  };
  if (is_in(c, '0', '9')) return pick('0', 10);
  if (is_in(c, 'A', 'Z')) return pick('A', is_hex ? 6 : 26);
  return pick('a', is_hex ? 6 : 26);
}

// Marks alone do not tell two texts apart.
bool shows_too_much(std::string_view made, std::string_view secret) {
  constexpr std::ptrdiff_t kLeastLead = 12;  // that many letters would be told from the start
  const auto differs = std::mismatch(made.begin(), made.end(), secret.begin()).first;
  const auto marks = std::count_if(secret.begin(), secret.end(), is_mark);
  return differs - made.begin() >= kLeastLead || differs == made.end() ||
         static_cast<std::size_t>(marks) * 2 > secret.size();
}

bool is_hex_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_in(c, '0', '9') || is_in(c, 'a', 'f') || is_in(c, 'A', 'F') || c == '-';
  });
}

bool is_jwt(std::string_view secret) {
  return secret.starts_with("eyJ") && std::count(secret.begin(), secret.end(), '.') == 2;
}

constexpr std::string_view kJwtHeader = R"({"alg":"none")";

// What stands before the placeholder, without case. GitHub's programs call a bearer a token.
std::string scheme_of(std::string_view value, std::string_view placeholder) {
  const std::string scheme = lower_case(value.substr(0, value.size() - placeholder.size()));
  return scheme == "token " ? "bearer " : scheme;
}

// The part of `base64(before + word + after)` that is the same whatever stands around it.
std::string inner_base64(std::string_view word, std::size_t shift) {
  std::string text(shift, '\0');
  text += word;
  const std::size_t whole = text.size() / 3 * 3;
  const std::string coded = base64_encode(std::string_view(text).substr(0, whole));
  const std::size_t from = shift == 0 ? 0 : 4;
  return coded.size() > from ? coded.substr(from) : std::string();
}

// A space as forms have it.
std::string with_plus(std::string escaped) {
  for (std::size_t at = 0; (at = escaped.find("%20", at)) != std::string::npos;) {
    escaped.replace(at, 3, "+");
  }
  return escaped;
}

std::string with_spaces(std::string_view form) {
  std::string out(form);
  std::replace(out.begin(), out.end(), '+', ' ');
  return out;
}

// As often as there is an escape, in one pass: no two of them overlap, so that the order is all
// one.
std::string decoded_to_the_end(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    while (out.size() > 2) {
      const std::optional<char> byte = escape_at(out, out.size() - 3);
      if (!byte) break;
      out.resize(out.size() - 3);
      out += *byte;
    }
  }
  return out;
}

// RFC 4648, section 5.
std::string for_urls(std::string base64) {
  std::replace(base64.begin(), base64.end(), '+', '-');
  std::replace(base64.begin(), base64.end(), '/', '_');
  return base64;
}

}  // namespace

std::string header_value(const Credential& credential, std::string_view value) {
  std::string text = credential.value.value_or(std::string(kVariable));
  return text.replace(text.find(kVariable), kVariable.size(), value);
}

std::string make_placeholder(std::string_view secret, void (*random)(unsigned char*, std::size_t)) {
  std::string out;
  if (is_jwt(secret)) {
    // A header of that length; no base64 has 4n + 1 letters.
    const std::size_t dot = secret.find('.');
    const std::size_t size = std::max<std::size_t>(dot * 3 / 4, 3);
    std::string header = size >= kJwtHeader.size() + 1 ? std::string(kJwtHeader) : "{";
    header.resize(size - 1, ' ');
    out = base64_encode(header + "}");
    out.resize(dot, '=');
    while (out.ends_with('=')) out.pop_back();
    for (const char c : secret.substr(dot)) out += is_mark(c) ? c : like(c, false, random);
    return out;
  }
  std::string_view prefix = prefix_of(secret);
  if (prefix == secret) prefix = {};
  const std::string_view rest = secret.substr(prefix.size());
  const bool is_hex = is_hex_text(rest);
  const auto make = [&](bool keeps_marks) {
    out.clear();
    for (const char c : rest) out += keeps_marks && is_mark(c) ? c : like(c, is_hex, random);
  };
  make(true);
  if (shows_too_much(out, rest)) make(false);
  // Every byte has another to become, so that it ends.
  while (!rest.empty() && out == rest) make(false);
  out.insert(0, prefix);
  return out;
}

Credentials::Credentials(std::vector<BoundSecret> bound) : bound_(std::move(bound)) {
  for (const BoundSecret& secret : bound_) {
    placeholders_.push_back({secret.placeholder, secret.placeholder});
    has_space_ = has_space_ || secret.placeholder.find(' ') != std::string::npos;
  }
  for (const BoundSecret& secret : bound_) {
    searched_.push_back(has_space_ ? with_spaces(secret.placeholder) : secret.placeholder);
  }
  list_values();
}

void Credentials::renew(std::size_t index, std::string secret) {
  BoundSecret& bound = bound_[index];
  if (secret == bound.secret) return;
  std::erase(bound.earlier, secret);
  bound.earlier.insert(bound.earlier.begin(), std::exchange(bound.secret, std::move(secret)));
  if (bound.earlier.size() > kMostEarlier) bound.earlier.pop_back();
  list_values();
}

void Credentials::list_forms(const BoundSecret& of, const std::string& secret) {
  const auto add = [&](std::string from, std::string to) {
    constexpr std::size_t kLeast = 6;
    const bool is_known = std::any_of(values_.begin(), values_.end(),
                                      [&](const auto& each) { return each.from == from; });
    if (from.size() < kLeast || from == to || is_known) return;
    to.resize(from.size(), '*');
    values_.push_back({std::move(from), std::move(to)});
  };
  if (!secret.empty()) {
    std::string to = of.placeholder;
    to.resize(secret.size(), '*');
    values_.push_back({secret, std::move(to)});
  }
  if (of.text.basic) {
    add(base64_encode(*of.text.basic + ":" + secret),
        base64_encode(*of.text.basic + ":" + of.placeholder));
  }
  for (std::size_t shift = 0; shift < 3; ++shift) {
    const std::string from = inner_base64(secret, shift);
    const std::string to = inner_base64(of.placeholder, shift);
    add(from, to);
    if (for_urls(from) != from) add(for_urls(from), for_urls(to));
  }
  for (const bool is_upper_case : {true, false}) {
    for (const std::string_view kept : {"", "/"}) {  // of a path
      const std::string escaped = percent_encoded(secret, kept, is_upper_case);
      const std::string to = percent_encoded(of.placeholder);
      add(escaped, to);
      add(with_plus(escaped), with_plus(to));
    }
  }
  std::string spaced = secret;
  std::replace(spaced.begin(), spaced.end(), ' ', '+');
  add(std::move(spaced), with_plus(percent_encoded(of.placeholder)));
  for (std::string& spelled : spellings_of(secret)) {
    if (spelled != secret) add(std::move(spelled), of.placeholder);
  }
}

void Credentials::list_values() {
  const auto list = [this](const BoundSecret& of, const std::string& secret) {
    list_forms(of, secret);
    const std::string read = read_as_latin1(secret);
    if (read != secret) list_forms(of, read);
  };
  values_.clear();
  for (const BoundSecret& each : bound_) list(each, each.secret);
  // Each of these costs the search of every answer.
  const std::size_t most = values_.size() + kMostEarlierForms;
  for (std::size_t age = 0; age < kMostEarlier; ++age) {
    for (const BoundSecret& each : bound_) {
      if (age < each.earlier.size() && values_.size() < most) list(each, each.earlier[age]);
    }
  }
  std::stable_sort(values_.begin(), values_.end(), [](const Replacement& a, const Replacement& b) {
    return a.from.size() > b.from.size();
  });
}

bool Credentials::put_in_field(const BoundSecret& each, Field& field) const {
  if (each.text.header && is_named(field, lower_case(*each.text.header))) {
    // The whole value as the template has it, or the placeholder alone.
    const std::string whole = header_value(each.text, each.placeholder);
    if (field.value != each.placeholder && field.value != whole &&
        !(field.value.ends_with(each.placeholder) && whole.ends_with(each.placeholder) &&
          scheme_of(field.value, each.placeholder) == scheme_of(whole, each.placeholder))) {
      return false;
    }
    field.value = header_value(each.text, each.secret);
    return true;
  }
  if (!each.text.basic || !is_named(field, "authorization")) return false;
  if (lower_case(field.value.substr(0, 6)) != "basic ") return false;
  const auto pair = base64_decode(field.value.substr(6));
  if (!pair || *pair != *each.text.basic + ":" + each.placeholder) return false;
  field.value = "Basic " + base64_encode(*each.text.basic + ":" + each.secret);
  return true;
}

void Credentials::put_in_query(const BoundSecret& each, std::string& target) const {
  const std::size_t query = target.find('?');
  if (!each.text.query || query == std::string::npos) return;
  std::string out = target.substr(0, query + 1);
  bool is_first = true;
  for (const std::string_view pair : split(std::string_view(target).substr(query + 1), '&')) {
    if (!std::exchange(is_first, false)) out += '&';
    const std::size_t equals = pair.find('=');
    const auto is = [](std::string_view spelled, const std::string& text) {
      return percent_decoded(spelled) == text || percent_decoded(with_spaces(spelled)) == text;
    };
    const bool is_ours = equals != std::string_view::npos &&
                         is(pair.substr(0, equals), *each.text.query) &&
                         is(pair.substr(equals + 1), each.placeholder);
    out += is_ours ? pair.substr(0, equals + 1) : pair;
    if (is_ours) out += percent_encoded(each.secret);
  }
  target = std::move(out);
}

// An origin may decode more than once: a few times are told apart, more are gone through at once.
std::optional<std::string> Credentials::find(std::string_view text) const {
  constexpr int kLevels = 4;
  if (bound_.empty()) return std::nullopt;
  std::string decoded;
  if (has_space_) text = decoded = with_spaces(text);
  for (int level = 0;; ++level) {
    for (std::size_t i = 0; i < bound_.size(); ++i) {
      if (text.find(searched_[i]) != std::string_view::npos) return bound_[i].text.name;
    }
    if (level > kLevels || text.find('%') == std::string_view::npos) return std::nullopt;
    std::string next = level < kLevels ? percent_decoded(text) : decoded_to_the_end(text);
    if (next.size() == text.size()) return std::nullopt;
    decoded = has_space_ ? with_spaces(next) : std::move(next);
    text = decoded;
  }
}

std::size_t Credentials::open_end(std::string_view text) const {
  std::size_t open = open_suffix(placeholders_, text);
  std::size_t longest = 0;
  for (const Replacement& word : placeholders_) longest = std::max(longest, word.from.size());
  if (text.size() > 3 * longest) text.remove_prefix(text.size() - 3 * longest);
  if (has_space_ && text.find('+') != std::string_view::npos) {
    open = std::max(open, open_end(with_spaces(text)));
  }
  if (text.find('%') == std::string_view::npos) return open;
  for (std::size_t i = 0; i + open < text.size(); ++i) {
    std::string_view end = text.substr(i);
    const bool may_begin =
        end[0] == '%' || std::any_of(placeholders_.begin(), placeholders_.end(),
                                     [&](const auto& word) { return word.from[0] == end[0]; });
    if (!may_begin) continue;
    // An escape that is cut may be any byte.
    const std::size_t size = end.size();
    const std::size_t cut = end[size - 1] == '%' ? 1 : size > 1 && end[size - 2] == '%' ? 2 : 0;
    end.remove_suffix(cut);
    const auto begins = [&](const Replacement& word) {
      std::size_t at = 0;
      for (const char c : word.from) {
        if (at == end.size()) return true;
        const std::optional<char> byte = escape_at(end, at);
        if (byte.value_or(end[at]) != c) return false;
        at += byte ? 3 : 1;
      }
      return false;
    };
    if (std::any_of(placeholders_.begin(), placeholders_.end(), begins)) return size;
  }
  return open;
}

void Credentials::redact(Fields& fields) const {
  for (Field& field : fields) {
    field.value = redacted(values_, field.value);
    const std::string name = lower_case(field.name);
    const auto names = [&](const Replacement& value) {
      return name.size() >= value.from.size() &&
             name.find(lower_case(value.from)) != std::string::npos;
    };
    if (std::any_of(values_.begin(), values_.end(), names)) field.name = "x-redacted";
  }
}

std::optional<std::string> Credentials::find_in(const Fields& fields) const {
  for (const Field& field : fields) {
    if (auto name = find(field.value)) return name;
    if (auto name = find(field.name)) return name;
    if (!is_named(field, "authorization") && !is_named(field, "proxy-authorization")) continue;
    if (lower_case(field.value.substr(0, 6)) != "basic ") continue;
    const std::size_t from = std::min(field.value.find_first_not_of(" \t", 6), field.value.size());
    if (const auto pair = base64_decode(field.value.substr(from))) {
      if (auto name = find(*pair)) return name;
    }
  }
  return std::nullopt;
}

std::optional<std::string> Credentials::apply(std::string_view host, int port, bool is_tls,
                                              Fields& fields, std::string& target) const {
  Fields filled = fields;
  std::string put = target;
  // What holds a value now is looked at no more: a value may be anything.
  Fields looked_at;
  std::vector<bool> is_filled(fields.size());
  for (const BoundSecret& each : bound_) {
    if (!is_tls || !covers_host(each.text.host, host, port)) continue;
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (!is_filled[i] && put_in_field(each, filled[i])) is_filled[i] = true;
    }
    put_in_query(each, put);
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!is_filled[i]) looked_at.push_back(fields[i]);
  }
  if (auto name = find_in(looked_at)) return name;
  if (auto name = find(put)) return name;
  fields = std::move(filled);
  target = std::move(put);
  return std::nullopt;
}

}  // namespace sbx::http
