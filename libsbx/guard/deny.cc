// SPDX-License-Identifier: Apache-2.0
// Lists of names, and writes.
#include "guard/deny.h"

#include <algorithm>

#include "base/text.h"
#include "guard/names.h"
#include "json/writer.h"
#include "shell/arguments.h"
#include "shell/programs.h"

namespace sbx::guard {
namespace {

bool is_any(const std::vector<std::string>& patterns, std::string_view program) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_name(pattern, program); });
}

bool is_function(const Case& c, std::string_view name) {
  return std::any_of(c.reading.functions.begin(), c.reading.functions.end(),
                     [&](const shell::Function& function) { return function.name == name; });
}

bool network_is_on(const Policy& policy) {
  return policy.sandbox.network.mode != NetworkMode::kNone;
}

std::string allowed_names(const Policy& policy) {
  const CommandsProfile& commands = policy.sandbox.commands;
  std::vector<std::string> names = *commands.allow;
  if (network_is_on(policy)) {
    names.insert(names.end(), commands.network_allow.begin(), commands.network_allow.end());
  }
  return join(names, ", ");
}

// Where only the listed programs exist the kernel holds the list; elsewhere the text must.
bool is_held_by_text(const Policy& policy) {
  return policy.sandbox.commands.allow && policy.sandbox.filesystem.base != Base::kTools;
}

Finding not_known(const std::string& what, const Policy& policy, const Span& span) {
  return {"command-not-known",
          Verdict::kDeny,
          what + " cannot be held against the list of allowed commands: " + allowed_names(policy),
          span,
          "",
          "",
          "filesystem.base = \"tools\""};
}

class NameCheck {
 public:
  NameCheck(const Policy& policy, const Case& c, std::vector<Finding>& out)
      : commands_(policy.sandbox.commands), policy_(policy), c_(c), out_(out) {}

  void run() {
    if (c_.command.words.empty()) return;
    const shell::Word& word = c_.command.words.front();
    if (!word.known && c_.command.is_supposed) return;
    if (!word.known) return check_unknown(word);
    if (word.text.empty()) return;
    if (!c_.command.is_doubted && check_denied()) return;
    if (!c_.command.is_supposed) check_allowed(word);
    check_asked();
  }

 private:
  void add(std::string_view id, Verdict verdict, std::string reason, std::string grant) {
    out_.push_back({std::string(id), verdict, std::move(reason), c_.command.words.front().span,
                    std::string(c_.program), "", std::move(grant)});
  }

  bool check_denied() {
    const std::string name(c_.program);
    for (const std::string_view pattern : kDeniedCommands) {
      if (!matches_name(pattern, name)) continue;
      add("denied-command", Verdict::kDeny,
          "'" + name + "' is on the list of commands that no profile allows", "");
      return true;
    }
    for (const std::string& pattern : commands_.deny) {
      if (!matches_name(pattern, name)) continue;
      add("denied-command", Verdict::kDeny, "'" + name + "' is denied by the profile",
          "commands.deny -= " + json_string(pattern));
      return true;
    }
    return false;
  }

  void check_allowed(const shell::Word& word) {
    const std::string name(c_.program);
    const bool by_name = word.text.find('/') == std::string::npos;
    if (by_name && (shell::is_shell_builtin(name) || is_function(c_, word.text))) return;
    if (commands_.allow && is_any(*commands_.allow, name)) return;
    if (is_any(commands_.network_allow, name)) {
      if (network_is_on(policy_)) return;
      return add("network-command", Verdict::kDeny,
                 "'" + name + "' is allowed only where the network is on, and it is off",
                 "network.mode = \"outbound\"");
    }
    if (!commands_.allow) return;
    add("command-not-allowed", Verdict::kDeny,
        "'" + name + "' is not an allowed command; allowed are: " + allowed_names(policy_),
        is_pattern(name) ? "" : "commands.allow += " + json_string(name));
  }

  void check_unknown(const shell::Word& word) {
    if (!is_held_by_text(policy_)) return;
    out_.push_back(not_known("a program's name that is made at run time", policy_, word.span));
  }

  void check_asked() {
    for (const std::string& pattern : commands_.ask) {
      if (pattern == "destructive" || !matches_name(pattern, c_.program)) continue;
      add("asked-command", Verdict::kAsk,
          "the profile wants a person to decide about '" + std::string(c_.program) + "'",
          "commands.ask -= " + json_string(pattern));
      return;
    }
  }

  const CommandsProfile& commands_;
  const Policy& policy_;
  const Case& c_;
  std::vector<Finding>& out_;
};

void refuse_write(const Case& c, const Span& span, std::string reason, std::string target,
                  std::vector<Finding>& out) {
  out.push_back({"readonly", Verdict::kDeny, std::move(reason), span, std::string(c.program),
                 std::move(target), "commands.readonly = false"});
}

// Programs that write only when told to.
bool writes_in_place(const Case& c) {
  const shell::Arguments arguments(c.command, 1);
  if (c.program == "sed" || c.program == "perl" || c.program == "yq") {
    if (c.program == "sed" && arguments.find("in-place") != nullptr) return true;
    return arguments.find('i') != nullptr;
  }
  if (c.program == "sort" || c.program == "tree") return arguments.find('o', "output") != nullptr;
  if (c.program == "find") {
    return std::any_of(c.command.words.begin(), c.command.words.end(), [](const shell::Word& word) {
      return shell::is_listed(word.text, "-delete -fprint -fprint0 -fprintf -fls");
    });
  }
  return false;
}

}  // namespace

void find_denied_names(const Policy& policy, const Case& c, std::vector<Finding>& out) {
  NameCheck(policy, c, out).run();
}

void find_unshown(const Policy& policy, const shell::Reading& reading, std::vector<Finding>& out) {
  if (!is_held_by_text(policy)) return;
  for (const Span& span : reading.unshown)
    out.push_back(
        not_known("what a file that is read in, another meaning of a name, or a value that is "
                  "taken for a number or a name, runs",
                  policy, span));
}

void find_writes(const Case& c, std::vector<Finding>& out) {
  if (shell::is_writing_program(c.program) || writes_in_place(c)) {
    refuse_write(c, c.command.span,
                 "'" + std::string(c.program) + "' writes, and the profile is read-only", "", out);
  }
  for (const shell::Redirection& redirection : c.command.redirections) {
    if (redirection.kind != shell::RedirectionKind::kTruncate &&
        redirection.kind != shell::RedirectionKind::kAppend) {
      continue;
    }
    const std::string& target = redirection.target.text;
    const bool harmless =
        redirection.target.known &&
        (target == "/dev/null" || target == "/dev/stdout" || target == "/dev/stderr" ||
         target == "/dev/tty" || target.starts_with("/dev/fd/"));
    if (harmless) continue;
    refuse_write(c, redirection.span,
                 "a redirection writes to a file, and the profile is read-only", target, out);
  }
}

}  // namespace sbx::guard
