// SPDX-License-Identifier: Apache-2.0
// By proc_pid_stat(5) and proc_pid_status(5).
#include "session/shell_usage.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace sbx {
namespace {

std::string of_process(pid_t pid, const char* name) {
  Result<std::string> text = read_file("/proc/" + std::to_string(pid) + "/" + name, 4096);
  return text.ok() ? std::move(text).value() : std::string();
}

double number(std::string_view text) {
  return static_cast<double>(parse_count(text, INT64_MAX).value_or(0));
}

}  // namespace

Usage usage_so_far(pid_t pid) {
  Usage usage;
  const std::string stat = of_process(pid, "stat");
  // utime, stime, cutime, cstime: fields 14 to 17, behind a name that may hold anything.
  const std::size_t end = stat.rfind(") ");
  if (end == std::string::npos) return usage;
  const std::vector<std::string_view> fields = split(std::string_view(stat).substr(end + 2), ' ');
  if (fields.size() < 15) return usage;
  const double ms_a_tick = 1000.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  usage.user_ms = (number(fields[11]) + number(fields[13])) * ms_a_tick;
  usage.system_ms = (number(fields[12]) + number(fields[14])) * ms_a_tick;
  const std::string status = of_process(pid, "status");
  constexpr std::string_view kPeak = "\nVmHWM:";
  const std::size_t at = status.find(kPeak);
  if (at == std::string::npos) return usage;
  std::string_view peak = std::string_view(status).substr(at + kPeak.size());
  peak.remove_prefix(std::min(peak.find_first_not_of(" \t"), peak.size()));
  usage.max_rss_kb = static_cast<std::int64_t>(number(peak.substr(0, peak.find(' '))));
  return usage;
}

Usage usage_since(const Usage& before, Usage now) {
  now.user_ms = std::max(0.0, now.user_ms - before.user_ms);
  now.system_ms = std::max(0.0, now.system_ms - before.system_ms);
  return now;
}

}  // namespace sbx
