// SPDX-License-Identifier: Apache-2.0
// sbx-report: what `sbx-run report` and `sbx-run explain --html` execute. `log FILE [OUT]`, or
// `plan` with the JSON on standard input.
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/files.h"
#include "log_page.h"
#include "new_file.h"
#include "plan_page.h"

namespace sbx::page {
namespace {

Status write_log(const std::string& log, const std::string& out) {
  SBX_TRY(LineReader reader, LineReader::open(log));
  const std::string name = log.substr(log.rfind('/') + 1);
  if (out.empty()) {
    Html html(STDOUT_FILENO);
    return write_log_page(reader, name, html);
  }
  SBX_CHECK_OK(reader.check_other(out));
  SBX_TRY(NewFile file, NewFile::make(out));
  Html html(file.fd());
  SBX_CHECK_OK(write_log_page(reader, name, html));
  return file.keep();
}

Status write_plan() {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  SBX_TRY(const std::string json, read_up_to(STDIN_FILENO, kMost));
  Html html(STDOUT_FILENO);
  return write_plan_page(json, html);
}

Status run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "plan") return write_plan();
  if (words.size() >= 2 && words.size() <= 3 && words[0] == "log") {
    return write_log(words[1], words.size() == 3 ? words[2] : "");
  }
  return Error{ErrorCode::kBadFlag, "sbx-report is a part of sbx-run", "", "sbx-run report --help"};
}

}  // namespace
}  // namespace sbx::page

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const sbx::Status status = sbx::page::run(std::vector<std::string>(argv + 1, argv + argc));
  if (status.ok()) return 0;
  const std::string line = "sbx-run: " + sbx::error_line(status.error()) + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  return 125;
}
