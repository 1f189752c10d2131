// SPDX-License-Identifier: Apache-2.0
// sbx-top [SESSION]: what `sbx-run top` executes.
#include <langinfo.h>
#include <signal.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>

#include "process.h"
#include "top.h"

namespace {

// What the terminal shows is said by the locale; where nothing is said, most show UTF-8.
void choose_locale() {
  setlocale(LC_ALL, "");
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = getenv(name);
    if (value != nullptr && *value != '\0' && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return;
    if (value != nullptr && (strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0)) return;
  }
  setlocale(LC_CTYPE, "C.UTF-8");
}

sbx::Result<int> run(const std::string& only) {
  sbx::Sessions sessions(only, sbx::read_environment(environ));
  const char* const no_color = getenv("NO_COLOR");
  sbx::Canvas canvas;
  SBX_CHECK_OK(canvas.open(no_color == nullptr || *no_color == '\0'));
  return sbx::Top(sessions, canvas).run();
}

}  // namespace

int main(int argc, char** argv) {
  sbx::prepare_process();
  choose_locale();
  const sbx::Result<int> status = run(argc > 1 ? argv[1] : "");
  if (status.ok()) return status.value();
  sbx::complain(status.error());
  return 125;
}
