// SPDX-License-Identifier: Apache-2.0
// The order of a judgement: read, look at each command, keep the strongest.
#include "guard/verdict.h"

#include <algorithm>

#include "guard/deny.h"
#include "guard/directories.h"
#include "guard/named.h"
#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx {
namespace {

std::string_view program_of(const Command& command) {
  if (command.words.empty() || !command.words.front().known) return "";
  return base_name(command.words.front().text);
}

// As read_argv counts.
std::string joined(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& argument : argv) {
    if (!out.empty() || &argument != &argv.front()) out += ' ';
    out += argument;
  }
  return out;
}

bool asks_about_destruction(const CommandsProfile& commands) {
  return std::find(commands.ask.begin(), commands.ask.end(), "destructive") != commands.ask.end();
}

void find_destructive(const Case& c, std::vector<Finding>& out) {
  for (const std::span<const Rule> table : destructive_rules()) {
    for (const Rule& rule : table) {
      if (!rule.programs.empty() && !is_listed(c.program, rule.programs)) continue;
      std::optional<Hit> hit = rule.match(c);
      if (!hit) continue;
      out.push_back({std::string(rule.id), Verdict::kAsk, std::string(rule.reason), hit->span,
                     std::string(c.program), std::move(hit->target), ""});
    }
  }
}

// A text that was not read to its end.
void find_unreadable(const Policy& policy, const Reading& reading, std::string_view text,
                     std::vector<Finding>& out) {
  const Span whole{0, static_cast<std::uint32_t>(text.size())};
  if (reading.complete) return;
  const CommandsProfile& commands = policy.sandbox.commands;
  if (commands.allow && policy.sandbox.filesystem.base != Base::kTools) {
    out.push_back({"not-readable", Verdict::kDeny,
                   "the command could not be read to its end, so that it cannot be held against "
                   "the list of allowed commands",
                   whole, "", "", ""});
  } else if (asks_about_destruction(commands)) {
    out.push_back({"not-readable", Verdict::kAsk, "the command could not be read to its end", whole,
                   "", "", ""});
  }
}

}  // namespace

Result<Judgement> judge(const Policy& policy, const Request& request) {
  Judgement out;
  SBX_TRY(out.cwd, request_cwd(policy, request));
  const bool is_shell = request.argv.empty();
  const std::string text = is_shell ? request.command : joined(request.argv);
  Reading reading = is_shell ? read_shell(text) : read_argv(request.argv);
  Places places(policy, request, out.cwd);
  const DirectoryMap directories(reading, text, places, out.cwd);
  for (std::size_t i = 0; i < reading.commands.size(); ++i)
    places.add_links(reading.commands[i], directories.of(i));
  const CommandsProfile& commands = policy.sandbox.commands;
  const bool asks = asks_about_destruction(commands);

  const CommandIndex index(reading);
  find_unreadable(policy, reading, text, out.findings);
  for (std::size_t i = 0; i < reading.commands.size(); ++i) {
    const Command& command = reading.commands[i];
    const Case c{reading, command, text, program_of(command), places, directories.of(i), index};
    find_denied_names(policy, c, out.findings);
    if (commands.readonly) find_writes(c, out.findings);
    if (commands.confine_paths) find_paths_outside(c, out.findings);
    if (asks) find_destructive(c, out.findings);
    find_refused_paths(policy, c, out.refused_paths);
  }
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     if (a.verdict != b.verdict) return a.verdict > b.verdict;
                     return a.span.begin < b.span.begin;
                   });
  if (!out.findings.empty()) out.verdict = out.findings.front().verdict;
  out.unknown = std::move(reading.unknown);
  return out;
}

}  // namespace sbx
