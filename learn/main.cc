// SPDX-License-Identifier: Apache-2.0
// sbx-learn: what `sbx-run learn` and `sbx-run profile grant` execute, with their flags read.
#include <unistd.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "kept/store.h"
#include "learn/grant.h"
#include "learn/learn.h"
#include "process.h"
#include "report/json.h"
#include "run/answer.h"

namespace {

using sbx::learn::GrantOptions;
using sbx::learn::LearnOptions;

int refuse(const sbx::Error& error) {
  const int signal = sbx::waiting_signal();
  sbx::complain(error);
  if (isatty(STDOUT_FILENO) == 0) {
    sbx::Outcome outcome = sbx::error_outcome(error);
    if (signal != 0) outcome.status = sbx::RunStatus::kCancelled;
    sbx::write_all(STDOUT_FILENO, sbx::outcome_to_json(outcome) + "\n");
  }
  return signal != 0 ? 128 + signal : 125;
}

// What is thrown away would stay where a signal killed us.
sbx::Result<int> learn_until_told(LearnOptions& options) {
  SBX_TRY(const sbx::OwnedFd signals, sbx::signal_descriptor(false));
  options.signal_fd = signals.get();
  return sbx::learn::learn(options);
}

int run(const std::vector<std::string>& words) {
  GrantOptions grant;
  LearnOptions learn;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") {
      learn.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (words[i] == "--yes") {
      grant.yes = learn.yes = true;
      continue;
    }
    if (words[i] == "--json") {
      learn.json = true;
      continue;
    }
    const std::string& name = words[i];
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (name == "--file") grant.file = value;
    if (name == "--from") grant.from = value;
    if (name == "--out") learn.out = value;
    if (name == "--merge") learn.merge = value;
    if (name == "--parent") learn.parents.push_back(value);
    if (name == "--command") learn.command = value;
    if (name == "--workspace") learn.workspace = value;
    if (name == "--home") grant.home = learn.home = value;
    if (name == "--state") grant.state = learn.state = value;
    if (name == "--profiles") grant.search.directories.push_back(value);
    ++i;
  }
  learn.search = grant.search;
  const sbx::Environment environment = sbx::read_environment(environ);
  if (const auto path = environment.find("PATH"); path != environment.end()) {
    grant.path = learn.path = path->second;
  }
  const bool is_learn = !words.empty() && words.front() == "learn";
  const sbx::Result<int> status = is_learn ? learn_until_told(learn) : sbx::learn::grant(grant);
  return status.ok() ? status.value() : refuse(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  sbx::prepare_process();
  return run(std::vector<std::string>(argv + 1, argv + argc));
}
