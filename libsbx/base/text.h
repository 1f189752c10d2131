// SPDX-License-Identifier: Apache-2.0
// Small text helpers: escaping for one-line messages, nearest names for hints, units for flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sbx {

// Leaves no mark where it stands, turns direction, or moves a cursor.
bool is_unseen(char32_t code);

// What is unseen, and bytes that are not UTF-8, as \xNN, so that a message
// never moves a terminal's cursor, and shows in the order in which it is read.
std::string escape_control_bytes(std::string_view text);
// The same of a text of several lines: line feeds and tabs stay.
std::string escape_lines(std::string_view text);

// The candidate with the least edit distance to `name`, where that is small enough to be a slip
// of the hand (at most a third of its length, and at least one); nullopt otherwise.
std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates);

// "10s", "500ms", "2m", "1h", "90" (seconds), "0.5s", "1.5m" → milliseconds, 1 to 10^12; nullopt on
// anything else.
std::optional<std::int64_t> parse_duration_ms(std::string_view text);

// "512", "64K", "512M", "2G" (powers of 1024; an optional trailing "B" or "iB") → bytes, 1 to 2^50.
std::optional<std::int64_t> parse_size_bytes(std::string_view text);

// A decimal count without sign or spaces, at most `max`; nullopt on anything else.
std::optional<std::int64_t> parse_count(std::string_view text, std::int64_t max);

// Of ASCII alone.
std::string lower_case(std::string_view text);

// What a person said to a question that ends in "[y/N]": "y" or "yes", in either case.
bool is_yes(std::string_view answer);

// For a shell: in single quotes, and only where it needs them.
std::string shell_quoted(std::string_view text);
std::string shell_word(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
// proc_pid_mountinfo(5) writes space, tab, newline and backslash as \040 and its like.
std::string unescape_octal(std::string_view text);
// " and 3 more" behind a list that was cut; empty for none.
std::string and_more(std::size_t more);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join(std::span<const std::string_view> parts, std::string_view separator);

}  // namespace sbx
