// SPDX-License-Identifier: Apache-2.0
// proc(5): what any user may read of any process.
#include "processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace sbx {

void Processes::read(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::string(name) + "/stat";
  const OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  if (!file.is_open() || ::read(file.get(), text.data(), text.size() - 1) <= 0) return;
  const char* const rest = strrchr(text.data(), ')');  // behind a name that may hold anything
  Process process;
  long long user = 0;
  long long system = 0;
  long long pages = 0;
  if (rest == nullptr ||
      sscanf(rest + 1,
             " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %*d %*d %*d %*d %*d "
             "%*d %*u %*u %lld",
             &process.parent, &user, &system, &pages) != 4) {
    return;
  }
  process.ticks = user + system;
  process.pages = pages;
  const auto before = before_.find(pid);
  if (before != before_.end()) process.new_ticks = process.ticks - before->second.ticks;
  children_.emplace(process.parent, pid);
  processes_.emplace(pid, process);
}

void Processes::look() {
  using std::chrono::steady_clock;
  const auto now = steady_clock::now();
  seconds_ = std::chrono::duration<double>(now - looked_at_).count();
  looked_at_ = now;
  before_ = std::move(processes_);
  processes_.clear();
  children_.clear();
  Listing listing(AT_FDCWD, "/proc");
  while (const dirent* entry = listing.next()) {
    if (const auto pid = parse_count(entry->d_name, INT32_MAX)) {
      read(static_cast<pid_t>(*pid), entry->d_name);
    }
  }
}

std::optional<TreeUse> Processes::of(pid_t task, pid_t server) const {
  auto top = processes_.find(task);
  if (top == processes_.end()) return std::nullopt;
  for (int steps = 0; steps < 8 && top->second.parent != server; ++steps) {
    const auto above = processes_.find(top->second.parent);
    if (above == processes_.end() || above->first == 1) break;
    top = above;
  }
  if (top->second.parent != server) top = processes_.find(task);
  std::int64_t ticks = 0;
  std::int64_t pages = 0;
  std::vector<pid_t> todo = {top->first};
  while (!todo.empty() && todo.size() <= processes_.size()) {
    const pid_t pid = todo.back();
    todo.pop_back();
    const Process& process = processes_.at(pid);
    ticks += process.new_ticks;
    pages += process.pages;
    const auto [begin, end] = children_.equal_range(pid);
    for (auto child = begin; child != end; ++child) todo.push_back(child->second);
  }
  const double hertz = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double seconds = static_cast<double>(ticks) / hertz;
  return TreeUse{seconds_ > 0 ? 100 * seconds / seconds_ : 0, pages * sysconf(_SC_PAGESIZE) / 1024};
}

}  // namespace sbx
