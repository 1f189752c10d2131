// SPDX-License-Identifier: Apache-2.0
// Output: the few commands whose output is plain from their words.
#include "guard/output.h"

#include <algorithm>

#include "guard/ansi_c.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxOutput = 65536;

std::optional<std::string> echo(const std::vector<Field>& words) {
  std::size_t i = 1;
  bool ends_line = true;
  bool escapes = false;
  for (; i < words.size(); ++i) {
    const std::string& option = words[i].text;
    if (option.size() < 2 || option[0] != '-') break;
    if (option.find_first_not_of("neE", 1) != std::string::npos) break;
    if (option.find('n') != std::string::npos) ends_line = false;
    escapes = option.find('e') != std::string::npos;
  }
  std::string out;
  for (const std::size_t first = i; i < words.size(); ++i) {
    if (i > first) out += ' ';
    out += words[i].text;
  }
  if (escapes) out = decode_printf(out);
  return ends_line ? out + '\n' : out;
}

// The formats %s %b %d %i %c %q %% without widths, as often as there are arguments.
std::optional<std::string> print_formatted(const std::vector<Field>& words) {
  std::size_t i = 1;
  if (i < words.size() && words[i].text == "--") ++i;
  if (i >= words.size() || words[i].text.starts_with("-v")) return std::nullopt;
  const std::string format = decode_printf(words[i++].text);
  std::string out;
  while (true) {
    const std::size_t before = i;
    for (std::size_t at = 0; at < format.size(); ++at) {
      if (format[at] != '%') {
        out += format[at];
        continue;
      }
      if (++at == format.size()) return std::nullopt;
      if (format[at] == '%') {
        out += '%';
        continue;
      }
      const std::string argument = i < words.size() ? words[i].text : "";
      ++i;
      switch (format[at]) {
        case 's':
        case 'q':
          out += argument;
          break;
        case 'b':
          out += decode_printf(argument);
          break;
        case 'c':
          out += argument.substr(0, 1);
          break;
        default:
          return std::nullopt;
      }
      if (out.size() > kMaxOutput) return std::nullopt;
    }
    if (i >= words.size() || i == before) return out;
  }
}

}  // namespace

std::optional<std::string> constant_output(const std::vector<Field>& words,
                                           const std::optional<std::string>& input) {
  if (words.empty()) return "";
  const auto program = program_name(words[0]);
  if (!program || !words[0].is_known()) return std::nullopt;
  std::size_t bytes = 0;
  for (const Field& word : words) bytes += word.text.size() + 1;
  if (bytes > kMaxOutput) return std::nullopt;
  // A pattern may become other words.
  const bool has_glob = std::any_of(words.begin(), words.end(), [](const Field& word) {
    return word.has_glob || word.has_tilde || word.is_process;
  });
  if (*program == "true" || *program == ":") return "";
  if (has_glob) return std::nullopt;
  if (*program == "echo") return echo(words);
  if (*program == "printf") return print_formatted(words);
  if (*program == "cat" && (words.size() == 1 || (words.size() == 2 && words[1].text == "-")))
    return input;
  if (*program == "tee") return input;
  if ((*program == "command" || *program == "builtin") && words.size() > 1 &&
      !words[1].text.starts_with('-')) {
    return constant_output({words.begin() + 1, words.end()}, input);
  }
  return std::nullopt;
}

}  // namespace sbx
