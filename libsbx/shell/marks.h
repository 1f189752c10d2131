// SPDX-License-Identifier: Apache-2.0
// Marks: bytes that stand in a word's text for a part that only the run knows, each with what is
// known of that part all the same. Such bytes in a text that was given are holes. Values only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx::shell {

// Anything at all. No shell text can hold a NUL byte itself.
inline constexpr char kHole = '\0';
// $0 of a shell that nobody gave another name: a hole, but for its last component.
inline constexpr char kSelf = '\x0e';
// What is left of any text behind its slashes: it may be empty, ".", "..", "/", and hold blanks.
inline constexpr char kComponent = '\x0f';
// Relative paths that are not empty, without ".", ".." or blanks:
inline constexpr char kName = '\x10';    // one that is new or the run's own: $$, a date, mktemp's
inline constexpr char kMaybe = '\x11';   // the same, or nothing: $USER
inline constexpr char kChoice = '\x12';  // one of several that the text names
inline constexpr char kStar = '\x13';    // whatever a pattern or ls gives, one by one
inline constexpr char kDeep = '\x14';    // whatever find gives
inline constexpr char kPicked = '\x19';  // what a filter leaves of those: not all of them
// Absolute paths, at the beginning of a word:
inline constexpr char kHome = '\x15';     // $HOME
inline constexpr char kTmp = '\x16';      // $TMPDIR
inline constexpr char kStart = '\x17';    // the directory that the whole text starts in
inline constexpr char kWorking = '\x18';  // the directory that the command runs in

constexpr bool is_mark(char c) { return c == kHole || (c >= kSelf && c <= kPicked); }
constexpr bool is_place_mark(char c) { return c >= kHome && c <= kWorking; }
bool has_mark(std::string_view text);
inline bool has_hole(std::string_view text) {
  return text.find_first_of(std::string_view{"\0\x0e", 2}) != std::string_view::npos;
}
// Whether it is bounded, and safe to be split at blanks.
inline bool is_bounded(std::string_view text) {
  return !has_hole(text) && text.find(kComponent) == std::string_view::npos;
}
// Whether any letters at all may stand for a part of it: for one that is a name or a number they
// may not.
bool may_be_text(std::string_view text);
// What another shell reads as its text: what is not bounded may be anything there.
std::string as_script(std::string_view text);

// A text as it was given: its own bytes of these values are holes.
std::string without_marks(std::string_view given);

// What can be said of a value that is one of `items`; a hole where that is nothing.
std::string join_values(const std::vector<std::string>& items);

// A word that the shell makes files of → one of those files.
std::string pattern_value(std::string_view pattern);

// Whether a component of the pattern may be "..", which some shells let ".*" match.
bool may_match_parent(std::string_view pattern);

// Whether nothing but kMaybe stands in `text`.
bool may_be_empty(std::string_view text);

}  // namespace sbx::shell
