// SPDX-License-Identifier: Apache-2.0
// A pipe from its standard output; its end of file is the end.
#include "session/layer_action.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/pointers.h"
#include "base/start_program.h"

namespace sbx {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{16} << 20;

}  // namespace

Result<std::unique_ptr<LayerAction>> LayerAction::start(const std::vector<std::string>& words,
                                                        const Environment& environment, int lock) {
  SBX_TRY(const std::string program, companion("sbx-layer"));
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return call_failed(ErrorCode::kSetupFailed, "pipe2", "pipe2", "raise the limit of open files");
  }
  std::unique_ptr<LayerAction> action(new LayerAction(words.front()));
  action->output_.reset(ends[0]);
  const OwnedFd out(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    std::string& entry = variables.emplace_back(name);
    (entry += '=') += value;
  }
  SBX_TRY(action->pid_, start_program({.arguments = std::move(arguments),
                                       .environment = pointers(variables).data(),
                                       .output = out.get(),
                                       .fourth = lock}));
  return action;
}

LayerAction::~LayerAction() {
  output_.reset();  // it would wait for a reader
  if (only_reads_ && pid_ > 0) kill(pid_, SIGKILL);
  reap();
}

void LayerAction::reap() {
  if (pid_ < 0) return;
  int status = 0;
  pid_t reaped = 0;
  do reaped = waitpid(pid_, &status, 0);
  while (reaped < 0 && errno == EINTR);
  pid_ = -1;
  if (reaped > 0 && WIFEXITED(status)) answer_.status = WEXITSTATUS(status);
}

bool LayerAction::step() {
  std::array<char, std::size_t{64} << 10> buffer{};
  for (int i = 0; i < 16; ++i) {
    const ssize_t size = read(output_.get(), buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size > 0 && !is_too_large_) {
      answer_.text.append(buffer.data(), static_cast<std::size_t>(size));
      is_too_large_ = answer_.text.size() > kMostAnswer;
    }
    if (size > 0 && !(is_too_large_ && only_reads_)) continue;
    output_.reset();
    if (is_too_large_ && only_reads_) kill(pid_, SIGKILL);
    reap();
    return true;
  }
  return false;
}

Result<LayerAnswer> LayerAction::answer() const {
  if (!is_too_large_) return answer_;
  return Error{ErrorCode::kTooLarge,
               only_reads_ ? "the answer is larger than 16 MiB"
                           : "it has ended, and its answer is larger than 16 MiB",
               "layer", "name paths, or use sbx-run layer on the command line"};
}

}  // namespace sbx
