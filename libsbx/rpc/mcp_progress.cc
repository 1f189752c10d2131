// SPDX-License-Identifier: Apache-2.0
// Seconds since the start, and what was written since the last notification.
#include "rpc/mcp_progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/reader.h"
#include "tools/json_text.h"

namespace sbx {

using nlohmann::ordered_json;

McpProgress::McpProgress(std::string token, Clock::time_point now)
    : token_(std::move(token)), began_(now), last_(now) {}

// The newest text is kept; it is cut between characters.
void McpProgress::add(std::string_view output) {
  if (!is_wanted()) return;
  text_ += output;
  if (text_.size() <= kMostBytes) return;
  std::size_t cut = text_.size() - kMostBytes;
  while (cut < text_.size() && (static_cast<unsigned char>(text_[cut]) & 0xc0) == 0x80) ++cut;
  text_.erase(0, cut);
  is_cut_ = true;
}

std::optional<McpProgress::Clock::time_point> McpProgress::due() const {
  if (!is_wanted()) return std::nullopt;
  if (text_.empty()) return last_ + kSignOfLife;
  return last_ + kMostOften;
}

std::optional<std::string> McpProgress::take(Clock::time_point now) {
  const auto at = due();
  if (!at || *at > now) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  told_ = std::max(static_cast<double>(static_cast<std::int64_t>(seconds * 1000)) / 1000,
                   told_ + 0.001);
  std::string message = std::exchange(text_, {});
  if (std::exchange(is_cut_, false)) message.insert(0, "…");
  if (message.empty()) message = "running";
  last_ = now;
  return json_text({{"progressToken", parse_ordered_json(token_)},
                    {"progress", told_},
                    {"message", std::move(message)}});
}

}  // namespace sbx
