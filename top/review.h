// SPDX-License-Identifier: Apache-2.0
// Review: an approval that waits → lines that show all that its digest covers, and which of them
// have been in view. Only when all have may a person say yes. Values only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sbx {

class Review {
 public:
  // `asked`: an element of the answer to `approvals` with a digest.
  Review(const std::string& session, const nlohmann::json& asked);

  // For a window of this width; what has been seen stays seen.
  void fit(int columns);
  const std::vector<std::wstring>& lines() const { return lines_; }
  // Lines [first, first + count) are on the screen.
  void note_seen(std::size_t first, std::size_t count);
  bool is_seen() const;

 private:
  void add(const std::string& text);
  void add_value(const std::string& name, const nlohmann::json& value);

  struct Piece {
    std::size_t of = 0;  // of whole_
    bool is_seen = false;
  };
  std::vector<std::wstring> whole_;
  std::vector<std::wstring> lines_;
  std::vector<Piece> pieces_;  // one a line of lines_
  std::vector<bool> seen_;     // of whole_
  int columns_ = 0;
};

}  // namespace sbx
