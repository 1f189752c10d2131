// SPDX-License-Identifier: Apache-2.0
// read_tool [FILE…]: what the shell reader makes of each file (or of standard input), one JSON
// object a line: {"file", "verdict" (by the sample policy), "complete", "commands": [{"words":
// [[begin, end, text, known]…], "via", "assignments", …}], "functions", "unknown"}. For the tests
// beside it and for people.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "guard/sample_policy.h"
#include "shell/reading.h"

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const sbx::shell::Reading& reading) {
  Json commands = Json::array();
  for (const sbx::shell::Command& command : reading.commands) {
    if (command.is_supposed) continue;  // it does not stand there
    Json words = Json::array();
    for (const sbx::shell::Word& word : command.words) {
      words.push_back({word.span.begin, word.span.end, word.text, word.known});
    }
    Json assignments = Json::array();
    for (const sbx::shell::Assignment& assignment : command.assignments) {
      assignments.push_back({assignment.name, assignment.value.text, assignment.value.known});
    }
    Json redirections = Json::array();
    for (const sbx::shell::Redirection& redirection : command.redirections) {
      redirections.push_back(
          {static_cast<int>(redirection.kind), redirection.fd, redirection.target.text});
    }
    commands.push_back({{"span", {command.span.begin, command.span.end}},
                        {"words", words},
                        {"assignments", assignments},
                        {"redirections", redirections},
                        {"via", command.via},
                        {"pipeline", {command.pipeline, command.stage, command.stages}},
                        {"function", command.function},
                        {"more", command.has_more_words},
                        {"background", command.in_background}});
  }
  Json unknown = Json::array();
  for (const sbx::shell::Unknown& one : reading.unknown) {
    unknown.push_back({one.span.begin, one.span.end, one.what});
  }
  Json functions = Json::array();
  for (const sbx::shell::Function& function : reading.functions) functions.push_back(function.name);
  return {{"complete", reading.complete},
          {"commands", commands},
          {"functions", functions},
          {"unknown", unknown}};
}

void print(const std::string& name, std::istream& file) {
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const sbx::guard::Judgement judgement = sbx::judge_text(sbx::sample_policy(), text);
  Json line = {{"file", name}, {"verdict", sbx::verdict_name(judgement.verdict)}};
  line.update(to_json(sbx::shell::read_shell(text)));
  std::cout << line.dump(-1, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) print("-", std::cin);
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    print(argv[i], file);
  }
  return std::cout.flush() ? 0 : 1;
}
