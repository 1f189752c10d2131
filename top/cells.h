// SPDX-License-Identifier: Apache-2.0
// Cells: text from anywhere → what a terminal's cells can hold: no control, nothing that turns the
// direction of writing, nothing without a width but marks upon a letter. Widths are the locale's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbx {

enum class Unseen {
  kDrop,
  kEscape,  // "\u{202e}", where a person decides by what is shown
};

// Newlines too are what cannot be seen. Tabs are blanks.
std::wstring to_cells(std::string_view text, Unseen unseen);
// How many columns it takes.
int columns_of(std::wstring_view cells);
// Its beginning, in at most so many columns; with `fill` exactly so many.
std::wstring cut(std::wstring_view cells, int columns, bool fill = false);
// Pieces of at most so many columns each; of an empty text one.
std::vector<std::wstring> wrap(std::wstring_view cells, int columns);

}  // namespace sbx
