// SPDX-License-Identifier: Apache-2.0
// ToolRunner: a tool call → the method calls that it stands for, one after the other, over a
// dispatcher → its answer. Keeps where each background shell was last polled. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/policy.h"
#include "rpc/dispatcher.h"
#include "tools/tool.h"

namespace sbx {

class ToolRunner {
 public:
  // The policy that a tool runs under; found once a tool.
  using FindPolicy = std::function<Result<Policy>(std::string_view tool)>;
  using Done = std::function<void(ToolAnswer answer)>;

  struct Call {
    ClientId client = 0;
    std::string id;  // the client's name for it, for Dispatcher::cancel()
    std::string tool;
    std::string params;          // a JSON object
    bool is_streamed = false;    // tell the client what a run writes, as task.output
    bool waits_for_end = false;  // a call that streams a task answers when the task has ended
  };

  // Both must outlive this; calls that are under way must have ended, or their client be removed.
  ToolRunner(Dispatcher& dispatcher, FindPolicy find_policy)
      : dispatcher_(dispatcher), find_policy_(std::move(find_policy)) {}

  // `done` is called once, possibly before this returns, unless the client is removed.
  void run(Call call, Done done);

  // The caller has been ended by this signal: what is cancelled from here on says so.
  void ended_by(int signal) { ended_by_ = signal; }

  // The method `tool` of the dispatcher: calls that could not be decoded are its errors.
  Dispatcher::ToolHandler handler();

 private:
  static constexpr std::size_t kMostCursors = 4096;

  struct Running;
  struct Kept {
    std::shared_ptr<const Policy> policy;
    ToolSettings settings;
  };

  Result<Kept> policy_of(std::string_view tool);
  void next(const std::shared_ptr<Running>& running);
  void take(const std::shared_ptr<Running>& running, Result<std::string> result);
  void move_cursor(const MethodCall& call, const std::string& output);

  Dispatcher& dispatcher_;
  FindPolicy find_policy_;
  int ended_by_ = 0;
  std::map<std::string, Kept, std::less<>> policies_;
  std::map<std::string, std::uint64_t> cursors_;  // by task: where the next poll begins
};

// The result of the method `tool`: the members of the structured answer, `text` of a text tool, and
// `tool`: {"name", "is_error", "exit_status"}.
std::string tool_result_json(std::string_view tool, const ToolAnswer& answer);
// What tool_result_json() wrote, read again: only text, is_text, is_error and exit_status.
ToolAnswer read_tool_result(std::string_view json);

}  // namespace sbx
