// SPDX-License-Identifier: Apache-2.0
// Escaping, edit distance, and the units of command-line flags.
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "base/hex.h"

namespace sbx {
namespace {

// Insertions, deletions, substitutions, and two neighbours that changed places ("bsae").
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

struct Character {
  std::size_t size = 1;
  bool is_shown = false;
};

// Of text that is not empty. What is not UTF-8 is a character of one byte, not shown: terminals
// that are not set to UTF-8 take 0x80 to 0x9f for C1.
Character first_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, !is_unseen(lead)};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3fU);
  }
  return {size, !is_unseen(code)};
}

// "timeout" for "timeout_ms": the unit was left out, or one too many was given.
bool is_stem(std::string_view stem, std::string_view whole) {
  return stem.size() > 2 && whole.size() > stem.size() && whole.starts_with(stem) &&
         (whole[stem.size()] == '_' || whole[stem.size()] == '-');
}

struct Unit {
  std::string_view suffix;
  std::int64_t factor;
};

std::optional<std::int64_t> parse_with_units(std::string_view text, std::span<const Unit> units,
                                             std::int64_t max) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count =
      parse_count(text.substr(0, digits), std::numeric_limits<std::int64_t>::max() / 2);
  if (!count || *count == 0) return std::nullopt;
  const std::string_view suffix = text.substr(digits);
  const auto* unit = std::find_if(units.data(), units.data() + units.size(),
                                  [&](const Unit& u) { return u.suffix == suffix; });
  if (unit == units.data() + units.size() || *count > max / unit->factor) return std::nullopt;
  return *count * unit->factor;
}

// "0.5s", "1.5m": a unit, at most three digits behind the point, whole milliseconds.
std::optional<std::int64_t> parse_decimal_ms(std::string_view text) {
  static constexpr std::array kUnits = {Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}};
  constexpr std::int64_t kMost = 1'000'000'000;
  const std::size_t point = text.find('.');
  const std::size_t end = text.find_first_not_of("0123456789", point + 1);
  if (end == std::string_view::npos || end - point - 1 > 3) return std::nullopt;
  std::string digits(text.substr(point + 1, end - point - 1));
  const auto whole = parse_count(text.substr(0, point), kMost);
  const auto part =
      digits.empty() ? std::nullopt : parse_count(digits.append(3 - digits.size(), '0'), 999);
  const std::string_view suffix = text.substr(end);
  const auto* unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.suffix == suffix; });
  if (!whole || !part || unit == kUnits.end()) return std::nullopt;
  const std::int64_t thousandths = *whole * 1000 + *part;
  if (thousandths == 0 || *whole > 1'000'000'000'000 / unit->factor) return std::nullopt;
  return thousandths * (unit->factor / 1000);
}

}  // namespace

bool is_unseen(char32_t code) {
  // C0, DEL and C1, which terminals obey; soft hyphen; fillers, and what joins; marks that turn the
  // direction of what follows, and ends of lines; selectors; tags.
  static constexpr std::pair<char32_t, char32_t> kUnseen[] = {
      {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},      {0x34f, 0x34f},   {0x61c, 0x61c},
      {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},  {0x200b, 0x200f}, {0x2028, 0x202e},
      {0x2060, 0x206f}, {0x2800, 0x2800}, {0x3164, 0x3164},  {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
      {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::any_of(std::begin(kUnseen), std::end(kUnseen), [&](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

std::string escape_control_bytes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    for (const char c : text.substr(0, next.size)) {
      const auto byte = static_cast<unsigned char>(c);
      if (next.is_shown) {
        out += c;
      } else {
        out += "\\x";
        append_hex(out, byte);
      }
    }
    text.remove_prefix(next.size);
  }
  return out;
}

std::string escape_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += escape_control_bytes(text.substr(0, end));
    out += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates) {
  if (name.size() > 64) return std::nullopt;
  // In halves: a unit left out is further away than one slip, and nearer than two.
  constexpr std::size_t kStemDistance = 3;
  std::optional<std::string_view> best;
  std::size_t best_distance = 2 * (std::max<std::size_t>(1, name.size() / 3) + 1);
  for (const std::string_view candidate : candidates) {
    std::size_t distance = 2 * edit_distance(name, candidate);
    const bool stem = is_stem(name, candidate) || is_stem(candidate, name);
    if (stem) distance = std::min(distance, kStemDistance);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
  if (text.find('.') != std::string_view::npos) return parse_decimal_ms(text);
  static constexpr std::array kUnits = {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"", 1000},
                                        Unit{"m", 60'000}, Unit{"h", 3'600'000}};
  return parse_with_units(text, kUnits, 1'000'000'000'000);
}

std::optional<std::int64_t> parse_size_bytes(std::string_view text) {
  static constexpr std::array kUnits = {
      Unit{"", 1},          Unit{"B", 1},       Unit{"K", 1 << 10},   Unit{"KB", 1 << 10},
      Unit{"KiB", 1 << 10}, Unit{"k", 1 << 10}, Unit{"M", 1 << 20},   Unit{"MB", 1 << 20},
      Unit{"MiB", 1 << 20}, Unit{"m", 1 << 20}, Unit{"G", 1 << 30},   Unit{"GB", 1 << 30},
      Unit{"GiB", 1 << 30}, Unit{"g", 1 << 30}, Unit{"T", 1LL << 40}, Unit{"TB", 1LL << 40}};
  return parse_with_units(text, kUnits, 1LL << 50);
}

std::optional<std::int64_t> parse_count(std::string_view text, std::int64_t max) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end || value > max) return std::nullopt;
  return value;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string unescape_octal(std::string_view text) {
  const auto digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && digit(i + 1) >= 0 && digit(i + 2) >= 0 && digit(i + 3) >= 0) {
      out += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_yes(std::string_view answer) {
  const std::string said = lower_case(answer);
  return said == "y" || said == "yes";
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";  // ends the word, stands alone, and begins it again
    out += c;
  }
  return out + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
  const bool is_plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain ? std::string(text) : shell_quoted(text);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string and_more(std::size_t more) {
  return more == 0 ? std::string() : " and " + std::to_string(more) + " more";
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return join({std::vector<std::string_view>(parts.begin(), parts.end())}, separator);
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

}  // namespace sbx
