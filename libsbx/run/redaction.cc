// SPDX-License-Identifier: Apache-2.0
// Field by field.
#include "run/redaction.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "policy/http.h"

namespace sbx {

Result<RedactionInput> choose_redaction(const Policy& policy, const Environment& environment) {
  RedactionInput redaction;
  if (!policy.run.output.redact) return redaction;
  SBX_TRY(redaction.rules, RuleSet::make(policy.run.output.patterns));
  const HttpSession* const http = policy.sandbox.http.get();
  for (const auto& [name, value] : environment) {
    // None of them is a secret, whatever the names say: a path that is shown, a placeholder.
    if (http != nullptr && (value == http->trust_path || http->placeholders.contains(name)))
      continue;
    const auto& sockets = policy.sandbox.network.unix_sockets;
    if (std::find(sockets.begin(), sockets.end(), value) != sockets.end()) continue;
    if (is_sensitive_name(name)) redaction.exact_values.push_back(value);
  }
  return redaction;
}

std::string redact_text(const RedactionInput& redaction, std::string_view text, bool is_shell) {
  if (redaction.rules == nullptr || text.empty()) return std::string(text);
  std::string out;
  const auto sink = [&](std::string_view safe) { out += safe; };
  Redactor redactor(redaction.rules, redaction.exact_values);
  if (is_shell) redactor.set_shell();
  redactor.append(text, sink);
  redactor.finish(sink);
  return out;
}

namespace {

// One pass for all of them, since each redactor has to be told the exact values anew. Between two
// fields stands what ends a line, an assignment and a token.
constexpr std::string_view kBetween{"\n\0\n", 3};

std::optional<std::vector<std::string>> redact_together(const RedactionInput& redaction,
                                                        const std::vector<std::string*>& fields) {
  std::string all;
  for (const std::string* field : fields) {
    if (field->find(kBetween) != std::string::npos) return std::nullopt;
    all += *field;
    all += kBetween;
  }
  const std::string safe = redact_text(redaction, all);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < safe.size();) {
    const std::size_t end = safe.find(kBetween, at);
    if (end == std::string::npos) return std::nullopt;
    out.push_back(safe.substr(at, end - at));
    at = end + kBetween.size();
  }
  // A private key without an end takes all that follows it, other fields too.
  if (out.size() != fields.size()) return std::nullopt;
  return out;
}

// A secret's name may be the argument before it: they are searched as the line that shows them.
void redact_arguments(const RedactionInput& redaction, std::vector<std::string>& argv) {
  Redactor redactor(redaction.rules, redaction.exact_values);
  const std::vector<SecretSpan> secrets = redactor.find(display_arguments(argv));
  auto secret = secrets.begin();
  std::size_t begin = 0;  // of an argument in that line
  for (std::string& argument : argv) {
    if (secret == secrets.end()) return;
    const std::size_t size = display_arguments({argument}).size();
    const bool is_quoted = size != argument.size();
    std::size_t at = begin + (is_quoted ? 1 : 0);
    begin += size + 1;
    std::string safe;
    auto replaced = secrets.end();
    for (const char c : argument) {
      while (secret != secrets.end() && secret->end <= at) ++secret;
      at += is_quoted && c == '\'' ? std::string_view("'\\''").size() : 1;
      if (secret == secrets.end() || secret->begin >= at) {
        safe += c;
      } else if (replaced != secret) {
        safe += kReplacement;
        replaced = secret;
      }
    }
    argument = std::move(safe);
  }
}

// One copy of it: there are many calls.
[[gnu::noinline]] void add(std::vector<std::string*>& to, std::string& text) {
  to.push_back(&text);
}

// They are in lower case, whatever a value in them was.
void redact_hosts(RedactionInput redaction, const std::vector<std::string*>& hosts) {
  std::erase_if(redaction.exact_values, [](std::string& value) {
    const std::string given = std::exchange(value, lower_case(value));
    return given == value;
  });
  if (!redaction.exact_values.empty() && !hosts.empty()) redact_texts(redaction, hosts);
}

}  // namespace

Error shortened(Error error) {
  constexpr std::size_t kMost = std::size_t{16} << 10;
  for (std::string* text : {&error.message, &error.where, &error.hint}) {
    if (text->size() <= kMost) continue;
    text->resize(valid_utf8_prefix(std::string_view(*text).substr(0, kMost)));
    *text += "…";
  }
  return error;
}

Error without_secrets(Error error) {
  error = shortened(std::move(error));
  Result<std::shared_ptr<const RuleSet>> rules = RuleSet::make({});
  if (rules.ok()) redact_texts({std::move(rules).value(), {}}, {&error.message, &error.where});
  return error;
}

void redact_texts(const RedactionInput& redaction, const std::vector<std::string*>& texts) {
  auto safe = redact_together(redaction, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    *texts[i] = safe ? std::move((*safe)[i]) : redact_text(redaction, *texts[i]);
  }
}

void redact_outcome(const RedactionInput& redaction, Outcome& outcome) {
  if (redaction.rules == nullptr) return;
  const std::string command = outcome.command;
  const auto text = std::find(outcome.argv.begin(), outcome.argv.end(), command);
  const auto at = static_cast<std::size_t>(text - outcome.argv.begin());
  redact_arguments(redaction, outcome.argv);
  std::vector<std::string*> fields;
  // Most commands assign nothing, and are searched with the rest.
  const bool assigns = command.find('=') != std::string::npos;
  if (assigns) outcome.command = redact_text(redaction, command, true);
  if (!assigns) add(fields, outcome.command);
  add(fields, outcome.cwd);
  for (std::size_t i = 0; i < outcome.argv.size(); ++i) {
    const bool is_command = assigns && i == at;
    if (is_command) outcome.argv[i] = outcome.command;
    if (!is_command) add(fields, outcome.argv[i]);
  }
  if (outcome.description) add(fields, *outcome.description);
  std::vector<std::string*> hosts;  // or what holds some
  for (Denial& denial : outcome.denials) {
    add(fields, denial.program);
    add(denial.layer == Refuser::kNetwork ? hosts : fields, denial.target);
    add(denial.layer == Refuser::kNetwork ? hosts : fields, denial.grant);
  }
  for (AllowedConnection& connection : outcome.connections) {
    add(hosts, connection.name);
    for (HttpExchange& request : connection.requests) {
      add(fields, request.method);
      add(hosts, request.host);
      add(fields, request.path);
    }
  }
  if (outcome.approval) {
    for (Finding& rule : outcome.approval->rules) {
      add(fields, rule.reason);
      add(fields, rule.target);
      add(fields, rule.grant);
    }
  }
  if (outcome.changes) {
    for (Change& change : *outcome.changes) add(fields, change.path);
  }
  for (std::string& warning : outcome.sandbox.warnings) add(fields, warning);
  if (outcome.error) {
    add(fields, outcome.error->message);
    add(fields, outcome.error->where);
  }
  redact_hosts(redaction, hosts);
  fields.insert(fields.end(), hosts.begin(), hosts.end());
  redact_texts(redaction, fields);
  // What it says once it is read was not there to be seen in the output.
  if (outcome.result_json) {
    change_escaped_strings(*outcome.result_json,
                           [&redaction](const auto& strings) { redact_texts(redaction, strings); });
  }
}

}  // namespace sbx
