// SPDX-License-Identifier: Apache-2.0
#include "learn/account.h"

#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "process.h"

namespace sbx::learn {

void say(const std::string& line) {
  write_all(STDERR_FILENO, "sbx-run: " + escape_control_bytes(line) + "\n");
}

void tell(const Learned& learned) {
  for (const Line& line : learned.lines) say(explained(line));
  for (const std::string& line : learned.refused) say(line);
  for (const nlohmann::json& rule : learned.asks) {
    say("a run asks first (" + rule.value("id", std::string()) +
        "): " + rule.value("reason", std::string()) + ": " + rule.value("target", std::string()));
  }
  for (const Proposal& one : presets_for(learned.lines)) {
    say("--with " + one.preset + " would stand for " + std::to_string(one.lines) +
        " of these lines");
  }
  for (const std::string& line : learned.differ) say("not proven: " + line);
}

Document answer_of(const Learned& learned, const std::string& out) {
  Document answer = {{"proven", learned.is_proven()}, {"written", learned.is_written}};
  answer["out"] = out.empty() ? Document() : Document(out);
  for (const char* key : {"status", "exit_code", "signal"}) {
    answer[key] = learned.wide.value(key, nlohmann::json());
  }
  Document& second = answer["second_run"] = Document::object();
  for (const char* key : {"status", "exit_code", "signal", "stderr", "denials"}) {
    second[key] = learned.narrow.value(key, nlohmann::json());
  }
  answer["differs"] = learned.differ;
  answer["profile"] = learned.profile;
  answer["lines"] = Document::array();
  for (const Line& line : learned.lines) {
    answer["lines"].push_back({{"setting", line.setting},
                               {"value", line.value},
                               {"tier", line.tier},
                               {"programs", line.programs},
                               {"why", explained(line)}});
  }
  answer["presets"] = Document::array();
  for (const Proposal& one : presets_for(learned.lines)) {
    answer["presets"].push_back({{"name", one.preset}, {"lines", one.lines}});
  }
  answer["refused"] = learned.refused;
  answer["asks"] = learned.asks;
  return answer;
}

}  // namespace sbx::learn
