// SPDX-License-Identifier: Apache-2.0
// The order of a judgement: read, look at each command, keep the strongest.
#include "guard/verdict.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "guard/deny.h"
#include "guard/directories.h"
#include "guard/named.h"
#include "guard/rule.h"
#include "shell/arguments.h"
#include "shell/scope.h"

namespace sbx::guard {
namespace {

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
      if (!rule.programs.empty() && !shell::is_listed(c.program, rule.programs)) continue;
      std::optional<Hit> hit = rule.match(c);
      if (!hit) continue;
      out.push_back({std::string(rule.id), Verdict::kAsk, std::string(rule.reason), hit->span,
                     std::string(c.program), std::move(hit->target), ""});
    }
  }
}

// Those that say what none before them says.
void add_new(std::vector<Finding> more, std::vector<Finding>& out) {
  std::set<std::tuple<std::string, std::string, std::string>> said;
  if (more.empty()) return;
  const auto is_new = [&](const Finding& each) {
    return said.emplace(each.id, each.program, each.target).second;
  };
  std::for_each(out.begin(), out.end(), is_new);
  std::copy_if(std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()),
               std::back_inserter(out), is_new);
}

// Each place once: a text may be walked through more than once.
void add_read_in(std::vector<Span> files, std::vector<shell::Unknown>& out) {
  std::sort(files.begin(), files.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  files.erase(std::unique(files.begin(), files.end()), files.end());
  for (const Span& file : files) out.push_back({file, "what is in a file that the shell reads in"});
}

// A text that was not read to its end.
void find_unreadable(const Policy& policy, const shell::Reading& reading, std::string_view text,
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
  // The operator's counts where it stands in the place of what any shell has.
  std::map<std::string, std::string> environment = policy.run.environment.set;
  std::erase_if(environment, [](const auto& each) { return !shell::has_default(each.first); });
  for (const auto& [name, value] : request.env) environment.insert_or_assign(name, value);
  shell::Reading reading =
      is_shell ? shell::read_shell(text, environment) : shell::read_argv(request.argv, environment);
  Places places(policy, request, out.cwd);
  const DirectoryMap directories(reading, text, places, out.cwd);
  for (std::size_t i = 0; i < reading.commands.size(); ++i)
    places.add_links(reading.commands[i], directories.of(i));
  const CommandsProfile& commands = policy.sandbox.commands;
  const bool asks = asks_about_destruction(commands);

  const CommandIndex index(reading);
  find_unreadable(policy, reading, text, out.findings);
  find_unshown(policy, reading, out.findings);
  std::vector<Finding> supposed;
  NamedPaths named;
  for (std::size_t i = 0; i < reading.commands.size(); ++i) {
    const shell::Command& command = reading.commands[i];
    const Case c{reading, command,           text, known_program_of(command),
                 places,  directories.of(i), index};
    std::vector<Finding>& findings = command.is_supposed ? supposed : out.findings;
    find_denied_names(policy, c, findings);
    if (commands.readonly) find_writes(c, findings);
    if (commands.confine_paths) find_paths_outside(c, findings);
    if (asks) find_destructive(c, findings);
    if (!command.is_supposed) find_refused_paths(policy, c, named);
  }
  out.refused_paths = std::move(named.refused);
  add_new(std::move(supposed), out.findings);
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     if (a.verdict != b.verdict) return a.verdict > b.verdict;
                     return a.span.begin < b.span.begin;
                   });
  if (!out.findings.empty()) out.verdict = out.findings.front().verdict;
  out.leaves_names_open = !reading.unknown.empty();
  out.unknown = std::move(reading.unknown);
  add_read_in(std::move(reading.read_in), out.unknown);
  return out;
}

}  // namespace sbx::guard
