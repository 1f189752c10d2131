// SPDX-License-Identifier: Apache-2.0
// What is learned, a line of the profile each, with what it is for; and how lines are widened:
// a file, its directory, a cache, a preset. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "learn/grants.h"

namespace sbx::learn {

struct Line {
  std::string setting;             // "filesystem.roots"
  Document value;                  // one entry of the list; the value of what is none
  std::string tier;                // file, directory, cache; else what the setting is of
  std::set<std::string> programs;  // who asked for it
  std::size_t files = 0;           // that it stands for, where they were asked for one by one

  std::string path() const;  // of a root; else empty
  bool is_written() const;   // of a root
};

// The directory of a program's cache that the path lies in, below ${home}; else empty.
std::string cache_of(const std::string& path);

// False: the lines are as they were. Of two for one path, or one limit, the wider one stays.
bool add_line(std::vector<Line>& lines, Line line);

// Takes out the roots that were refused although they were there, and says which: by their own
// path, or by as many paths below as they stand for. `refused`: paths, and whether to write.
std::vector<Line> drop_refused(std::vector<Line>& lines,
                               const std::vector<std::pair<std::string, bool>>& refused);

// Takes out what another root covers.
void drop_covered(std::vector<Line>& lines);

// Several files of one directory, of which none is written, become the directory, where that may
// be shown. Whether any did.
bool join_directories(std::vector<Line>& lines,
                      const std::function<bool(const std::string& directory)>& may_be_shown);

// Twice of the limit that was met (as a result names it), and of time four times what the command
// took with nothing in its way; nullopt: none that can be raised.
std::optional<Line> raised_limit(std::string_view met, const LimitsProfile& limits,
                                 const std::vector<Line>& lines, double took_ms);

// The profile with the lines in it.
Document with_lines(Document profile, const std::vector<Line>& lines);

// A shipped preset, and how many of the lines it stands for.
struct Proposal {
  std::string preset;
  std::size_t lines = 0;
};
std::vector<Proposal> presets_for(const std::vector<Line>& lines);

// In words, without an end of line.
std::string explained(const Line& line);

}  // namespace sbx::learn
