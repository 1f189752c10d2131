// SPDX-License-Identifier: Apache-2.0
// Quoting is undone here by the two rules that a shell has for it.
#include "shell_property.h"

#include <algorithm>
#include <string>

#include "session/keys.h"
#include "session/shell_words.h"

namespace sbx {
namespace {

std::string unquote(std::string_view text) {
  std::string out;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      is_quoted = !is_quoted;
    } else if (text[i] == '\\' && !is_quoted && i + 1 < text.size()) {
      out += text[++i];
    } else if (is_quoted) {
      out += text[i];
    } else {
      return "unquoted";
    }
  }
  return is_quoted ? "open" : out;
}

bool is_status(int status) { return status >= 0 && status <= 255; }

}  // namespace

bool shell_holds(std::string_view bytes) {
  if (unquote(quote_for_shell(bytes)) != bytes) return false;
  const auto message = read_shell_message(bytes);
  if (!message) return true;
  if (const auto* ready = std::get_if<ShellReady>(&*message)) {
    return is_status(ready->status) && ready->flags.find_first_of(" -;$'") == std::string::npos;
  }
  if (const auto* end = std::get_if<ShellEnd>(&*message)) return is_status(end->status);
  if (const auto* begun = std::get_if<ShellBegun>(&*message)) return begun->word >= 0;
  const auto& pipes = std::get<ShellPipes>(*message);
  return pipes.out >= 0 && pipes.err >= 0;
}

bool keys_hold(std::string_view bytes) {
  for (const bool application : {false, true}) {
    const Result<std::string> keys = key_bytes(bytes, application);
    if (!keys.ok() && (keys.error().where != "/keys" || keys.error().hint.empty())) return false;
    // A name is never longer than what it sends is short of.
    if (keys.ok() && keys.value().size() > 8 * bytes.size()) return false;
  }
  return true;
}

}  // namespace sbx
