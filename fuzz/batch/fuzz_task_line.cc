// SPDX-License-Identifier: Apache-2.0
// Lines of tasks and of results, which anybody may have written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "batch/task_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto task = sbx::batch::read_task_line(text);
  if (task.ok() && (task.value().id.empty() || task.value().params.empty())) abort();
  (void)sbx::batch::id_of_refused(text);
  const auto result = sbx::batch::read_result_line(text);
  if (!result.ok()) return 0;
  // What was read can be written and is the same again.
  if (!result.value().id) return 0;
  const auto again = sbx::batch::read_result_line(
      sbx::batch::result_line(*result.value().id, R"({"status":"exited"})"));
  if (!again.ok() || again.value().id != result.value().id) abort();
  return 0;
}
