// SPDX-License-Identifier: Apache-2.0
// ToolRunner: a tool's call → the calls of the service that it stands for → its answer. Keeps each
// tool's policy, and where each background shell was last polled. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/policy.h"
#include "session/service.h"
#include "tools/tool.h"

namespace sbx {

class ToolRunner {
 public:
  // The policy that a tool runs under; found once a tool.
  using FindPolicy = std::function<Result<SharedPolicy>(std::string_view tool)>;
  using Done = std::function<void(const ToolAnswer& answer)>;

  struct Caller {
    ClientId client = 0;
    std::string id;              // the client's name for it, for Service::cancel()
    bool is_streamed = false;    // tell the client what a run writes
    bool waits_for_end = false;  // a call that streams a task answers when the task has ended
  };

  // `service` must outlive this; calls that are under way must have ended, or their client be
  // removed.
  ToolRunner(Service& service, FindPolicy find_policy)
      : service_(service), find_policy_(std::move(find_policy)) {}

  // Errors: those of decode_tool_call(), and of finding the tool's policy.
  Result<ToolCall> decode(std::string_view tool, std::string_view params);
  Result<ToolCall> decode_params(std::string_view tool, nlohmann::json params);
  // Of the last call that could not be decoded; empty where it has none.
  const std::string& refused_command() const { return refused_command_; }

  // `done` is called once, possibly before this returns, unless the client is removed.
  void run(Caller caller, ToolCall call, Done done);

  // The caller has been ended by this signal: what is cancelled from here on says so.
  void ended_by(int signal) { ended_by_ = signal; }

 private:
  static constexpr std::size_t kMostCursors = 4096;

  struct Running {
    Caller caller;
    ToolCall call;
    Done done;
  };
  struct Kept {
    SharedPolicy policy;
    ToolSettings settings;
  };

  Result<const Kept*> policy_of(std::string_view tool);
  Error refused(std::string command, Error error);
  std::uint64_t cursor(const std::string& task_id) const;
  void move_cursor(const std::string& task_id, std::uint64_t next);
  Ask ask(const std::shared_ptr<Running>& running, std::function<void()> next = {});
  void stream(const std::shared_ptr<Running>& running);
  void finish(Running& running, Result<TaskPointer> answer);

  Service& service_;
  FindPolicy find_policy_;
  int ended_by_ = 0;
  std::string refused_command_;
  std::map<std::string, Kept, std::less<>> policies_;
  std::map<std::string, std::uint64_t> cursors_;  // by task: where the next poll begins
};

}  // namespace sbx
