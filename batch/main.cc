// SPDX-License-Identifier: Apache-2.0
// sbx-batch: what `sbx-run batch` executes.
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/files.h"
#include "batch.h"
#include "options.h"
#include "process.h"
#include "report/json.h"
#include "run/answer.h"

namespace {

// Before the first task, as every verb that answers in JSON.
int refuse(const sbx::Error& error) {
  sbx::complain(error);
  if (isatty(STDOUT_FILENO) != 0) return 125;
  sbx::write_all(STDOUT_FILENO, sbx::outcome_to_json(sbx::error_outcome(error)) + "\n");
  return 125;
}

int run(const std::vector<std::string>& words) {
  sbx::Result<sbx::batch::Options> options = sbx::batch::read_options(words);
  if (!options.ok()) return refuse(options.error());
  sbx::batch::Batch batch(std::move(options).value());
  const sbx::Result<int> status = batch.run();
  if (!status.ok() && !batch.has_begun()) return refuse(status.error());
  batch.clear_progress();
  if (!status.ok()) sbx::complain(status.error());
  sbx::write_all(STDERR_FILENO, "sbx-run: batch: " + batch.summary_line() + "\n");
  return status.ok() ? status.value() : 125;
}

}  // namespace

int main(int argc, char** argv) {
  sbx::prepare_process();
  const int status = run(std::vector<std::string>(argv + 1, argv + argc));
  return status;
}
