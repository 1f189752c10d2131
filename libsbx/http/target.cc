// SPDX-License-Identifier: Apache-2.0
// One pass over the segments, then what must not go on is looked for in what they stand for.
#include "http/target.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/percent.h"
#include "base/text.h"
#include "base/utf8.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostTarget = std::size_t{32} << 10;

Error refused(const char* why) {
  return Error{ErrorCode::kBadValue, std::string("the path ") + why, "target",
               "send it in its plain form"};
}

bool is_dots(std::string_view segment) {
  segment = segment.substr(0, segment.find(';'));  // a server may take what follows for parameters
  return segment == "." || segment == "..";
}

struct Segment {
  std::string normal;   // %XX in capitals, but what need not be one
  std::string decoded;  // to the last byte
  bool was_escaped = false;
};

// What a server that decodes twice would make something else of; its own escapes may be escaped.
bool is_escaped_twice(std::string_view decoded) {
  for (std::size_t at = decoded.find('%'); at != std::string_view::npos;
       at = decoded.find('%', at + 1)) {
    const auto byte = escape_at(decoded, at);
    if (byte &&
        (*byte == '.' || *byte == '/' || *byte == '\\' || *byte == '%' || is_control(*byte)))
      return true;
  }
  return false;
}

Result<Segment> read_segment(std::string_view text) {
  Segment segment;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c <= ' ' || c > '~') return refused("holds a byte that must be escaped");
    if (c == '\\' || c == '#') return refused("holds a character that servers read differently");
    if (c != '%') {
      segment.normal += c;
      segment.decoded += c;
      continue;
    }
    const auto byte = escape_at(text, i);
    if (!byte) return refused("holds an escape that is none");
    if (is_control(*byte)) return refused("holds an escaped control");
    if (*byte == '\\') return refused("holds an escaped backslash");
    segment.was_escaped = true;
    segment.decoded += *byte;
    segment.normal += percent_encoded({&*byte, 1});
    i += 2;
  }
  if (is_escaped_twice(segment.decoded)) return refused("is escaped twice");
  if (!is_valid_utf8(segment.decoded)) return refused("is no UTF-8 once it is decoded");
  if (segment.was_escaped) {
    for (const std::string_view part : split(segment.decoded, '/')) {
      if (is_dots(part)) return refused("holds escaped dots that lead elsewhere");
    }
  }
  if (segment.decoded.find(';') != std::string::npos && is_dots(segment.decoded)) {
    return refused("holds dots with parameters");
  }
  return segment;
}

std::string joined(const std::vector<std::string>& segments) {
  std::string path;
  for (const std::string& segment : segments) path += "/" + segment;
  return path.empty() ? "/" : path;
}

// By %2F as well; what is empty between two of them is none.
std::vector<std::string> separated(const std::vector<std::string>& segments) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    std::string_view rest = segments[i];
    const bool is_last = i + 1 == segments.size();
    for (;;) {
      const std::size_t at = rest.find("%2F");
      const std::string_view part = rest.substr(0, at);
      const bool is_end = at == std::string_view::npos;
      if (!part.empty() || (is_end && is_last)) out.emplace_back(part);
      if (is_end) break;
      rest.remove_prefix(at + 3);
    }
  }
  return out;
}

// Of one segment: * is any part of it.
bool matches_segment(std::string_view pattern, std::string_view text) {
  if (pattern == "*") return !text.empty();
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star);
  // Greedy from the left; the last part must end the text.
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::size_t next = pattern.find('*');
    const std::string_view part = pattern.substr(0, next);
    if (next == std::string_view::npos) return text.ends_with(part);
    const std::size_t at = text.find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
    pattern.remove_prefix(next);
  }
  return true;
}

}  // namespace

Result<Target> read_target(std::string_view text) {
  if (text.size() > kMostTarget) return refused("is too long");
  const std::size_t query = text.find('?');
  const std::string_view path = text.substr(0, query);
  if (!path.starts_with('/')) return refused("does not start with /");
  Target target;
  bool is_changed = false;
  const std::vector<std::string_view> parts = split(path.substr(1), '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    SBX_TRY(Segment segment, read_segment(parts[i]));
    const bool is_up = segment.normal == "..";
    if (is_up && target.as_data.empty()) return refused("leads above the root");
    if (is_up) target.as_data.pop_back();
    const bool is_nothing = segment.normal.empty() || segment.normal == ".";
    if (!is_up && !is_nothing) {
      target.as_data.push_back(std::move(segment.normal));
      continue;
    }
    if (is_up || !segment.normal.empty() || !is_last) is_changed = true;
    if (is_last) target.as_data.emplace_back();
  }
  target.path = joined(target.as_data);
  target.as_separator = separated(target.as_data);
  target.upstream = is_changed ? target.path : std::string(path);
  if (query == std::string_view::npos) return target;
  for (const char c : text.substr(query)) {
    if (c <= ' ' || c > '~' || c == '#') return refused("has a query that must be escaped");
  }
  target.upstream += text.substr(query);
  target.query = text.substr(query + 1);
  return target;
}

std::vector<std::string> pattern_segments(std::string_view pattern, bool separates) {
  std::vector<std::string> segments;
  for (const std::string_view part :
       split(pattern.substr(std::min<std::size_t>(1, pattern.size())), '/')) {
    Result<Segment> segment = read_segment(part);
    segments.push_back(segment.ok() ? std::move(segment.value().normal) : std::string(part));
  }
  return separates ? separated(segments) : segments;
}

bool matches_path(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  // reach[j]: the pattern so far covers the first j segments.
  std::vector<bool> reach(path.size() + 1);
  reach[0] = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::vector<bool> next(path.size() + 1);
    if (pattern[i] == "**") {
      bool is_reached = false;
      const bool is_last = i + 1 == pattern.size();
      for (std::size_t j = 0; j <= path.size(); ++j) {
        if (!is_last) is_reached = is_reached || reach[j];
        next[j] = is_reached;
        if (is_last) is_reached = is_reached || reach[j];
      }
    } else {
      for (std::size_t j = 0; j < path.size(); ++j) {
        next[j + 1] = reach[j] && matches_segment(pattern[i], path[j]);
      }
    }
    reach.swap(next);
  }
  return reach[path.size()];
}

bool matches_query(const std::vector<std::string>& patterns, std::string_view query) {
  if (query.find(';') != std::string_view::npos) return false;
  for (std::size_t at = 0; (at = query.find('%', at)) != std::string_view::npos; ++at) {
    if (!escape_at(query, at)) return false;
  }
  // One spelling of each; "=" and "*" stay what they are.
  const auto normal = [](std::string_view text, std::string_view kept) {
    const std::size_t equals = std::min(text.find('='), text.size());
    std::string out = percent_encoded(percent_decoded(text.substr(0, equals)), kept);
    if (equals == text.size()) return out;
    return out + "=" + percent_encoded(percent_decoded(text.substr(equals + 1)), kept);
  };
  const auto is_covered = [&](std::string_view parameter) {
    const std::string text = normal(parameter, "");
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return pattern == "*" || matches_segment(normal(pattern, "*"), text);
    });
  };
  for (const std::string_view parameter : split(query, '&')) {
    if (parameter.empty()) continue;
    std::string spaced(parameter);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    if (!is_covered(parameter) || !is_covered(spaced)) return false;
  }
  return true;
}

}  // namespace sbx::http
