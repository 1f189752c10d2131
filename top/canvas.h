// SPDX-License-Identifier: Apache-2.0
// Canvas: the terminal, by ncurses; cells in, keys out. Nothing else includes its header, whose
// names are too common.
#pragma once

#include <string>

#include "base/result.h"

namespace sbx {

class Canvas {
 public:
  enum Look : unsigned { kPlain = 0, kBold = 1, kReverse = 2, kAlarm = 4, kDim = 8 };
  enum Key : int {
    kNone = -1,
    kUp = 1000,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kBack,
    kResize,
  };

  Canvas() = default;
  ~Canvas() { close(); }
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  // Errors: kSetupFailed, where the standard descriptors are no terminal, or one that cannot be
  // drawn on.
  Status open(bool colours);
  void close();

  int columns() const;
  int rows() const;
  void clear();
  void put(int row, int column, const std::wstring& cells, unsigned look = kPlain);
  void show();
  // One that is there; else kNone.
  int key();

 private:
  void* screen_ = nullptr;
  bool has_colours_ = false;
};

}  // namespace sbx
