// SPDX-License-Identifier: Apache-2.0
// Three commands at once from one thread, their answers as they come: submit, poll, next.
#include <poll.h>
#include <sbx.h>

#include <iostream>
#include <memory>
#include <string>

namespace {

struct Close {
  void operator()(sbx_session* session) const { sbx_close(session); }
  void operator()(sbx_error* error) const { sbx_error_free(error); }
  void operator()(char* text) const { sbx_free(text); }
};

int fail(sbx_error* error) {
  const std::unique_ptr<sbx_error, Close> owned(error);
  std::cerr << sbx_error_code(error) << ": " << sbx_error_message(error) << "\n";
  return 1;
}

}  // namespace

int main() {
  sbx_error* error = nullptr;
  sbx_session* opened = nullptr;
  if (sbx_open(R"({"profile": "default"})", &opened, &error) != 0) return fail(error);
  const std::unique_ptr<sbx_session, Close> session(opened);
  for (int i = 0; i < 3; ++i) {
    const std::string params = R"({"command": "echo answer )" + std::to_string(i) + R"("})";
    std::uint64_t id = 0;
    if (sbx_submit(session.get(), "run", params.c_str(), &id, &error) != 0) return fail(error);
  }
  for (int answers = 0; answers < 3;) {
    pollfd ready{sbx_fd(session.get()), POLLIN, 0};
    if (poll(&ready, 1, 60'000) != 1) return 1;
    char* event = nullptr;
    const int got = sbx_next(session.get(), 0, &event, &error);
    if (got < 0) return fail(error);
    const std::unique_ptr<char, Close> owned(event);
    if (got == 1) {
      std::cout << event << "\n";
      ++answers;
    }
  }
}
