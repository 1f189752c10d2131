// SPDX-License-Identifier: Apache-2.0
// The properties of a reading.
#include "properties.h"

#include "shell/reading.h"

namespace sbx {

bool reading_holds(std::string_view text) {
  const shell::Reading reading = shell::read_shell(text);
  const auto lies_inside = [&text](Span span) {
    return span.begin <= span.end && span.end <= text.size();
  };
  for (const shell::Command& command : reading.commands) {
    if (!lies_inside(command.span) || command.stage >= command.stages) return false;
    if (command.function >= static_cast<std::int32_t>(reading.functions.size())) return false;
    for (const shell::Word& word : command.words) {
      if (!lies_inside(word.span) || word.text.find('\0') != std::string::npos) return false;
    }
    for (const shell::Redirection& redirection : command.redirections) {
      if (!lies_inside(redirection.span) || !lies_inside(redirection.target.span)) return false;
    }
    const bool is_unknown = !command.words.empty() && !command.words[0].known;
    if (is_unknown && reading.unknown.empty()) return false;
  }
  for (const shell::Unknown& unknown : reading.unknown) {
    if (!lies_inside(unknown.span)) return false;
  }
  return reading.complete || !reading.unknown.empty();
}

}  // namespace sbx
