// SPDX-License-Identifier: Apache-2.0
// A pipe from its standard output; its end of file is the end.
#include "session/layer_action.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/pointers.h"

namespace sbx {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{256} << 20;

Error spawn_failure(const char* call, int error) {
  return Error{ErrorCode::kSetupFailed, std::string(call) + ": " + errno_text(error), call,
               "raise the limits of open files and processes", error};
}

}  // namespace

Result<std::unique_ptr<LayerAction>> LayerAction::start(const std::vector<std::string>& words,
                                                        const Environment& environment) {
  SBX_TRY(const std::string program, companion("sbx-layer"));
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return spawn_failure("pipe2", errno);
  std::unique_ptr<LayerAction> action(new LayerAction());
  action->output_.reset(ends[0]);
  const OwnedFd out(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.get(), 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> arguments = {"sbx-layer"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    std::string& entry = variables.emplace_back(name);
    (entry += '=') += value;
  }
  const int error = posix_spawn(&action->pid_, program.c_str(), &files, nullptr,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    action->pid_ = -1;
    return spawn_failure("posix_spawn", error);
  }
  return action;
}

LayerAction::~LayerAction() { reap(); }

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
    if (size <= 0 || answer_.text.size() > kMostAnswer) {
      output_.reset();
      reap();
      return true;
    }
    answer_.text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return false;
}

}  // namespace sbx
