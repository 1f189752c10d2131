// SPDX-License-Identifier: Apache-2.0
// sbx-learn: what `sbx-run profile grant` executes, with its flags read and everything resolved.
#include <unistd.h>

#include <string>
#include <vector>

#include "learn/grant.h"
#include "process.h"
#include "report/json.h"
#include "run/answer.h"

namespace {

int refuse(const sbx::Error& error) {
  sbx::complain(error);
  sbx::write_all(STDOUT_FILENO, sbx::outcome_to_json(sbx::error_outcome(error)) + "\n");
  return 125;
}

int run(const std::vector<std::string>& words) {
  sbx::learn::GrantOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--yes") {
      options.yes = true;
      continue;
    }
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (words[i] == "--file") options.file = value;
    if (words[i] == "--from") options.from = value;
    if (words[i] == "--home") options.home = value;
    if (words[i] == "--state") options.state = value;
    if (words[i] == "--profiles") options.search.directories.push_back(value);
    ++i;
  }
  const sbx::Result<int> status = sbx::learn::grant(options);
  return status.ok() ? status.value() : refuse(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  (void)sbx::prepare_process();
  return run(std::vector<std::string>(argv + 1, argv + argc));
}
