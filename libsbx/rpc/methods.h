// SPDX-License-Identifier: Apache-2.0
// The table of methods: a row says what a method takes, who may call it, and what it calls. Names
// that are unknown are held against it, and a test holds docs/sessions.md against it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/field.h"
#include "policy/policy.h"
#include "rpc/json_rpc.h"
#include "session/service.h"
#include "tools/tool_runner.h"

namespace sbx {

// What it is given writes the result while this is called.
using MethodReply = std::function<void(const Result<WriteValue>& result)>;

// Of all methods; a row names those that its method takes.
struct MethodParams {
  std::string task_id;  // empty: not given
  std::optional<std::int64_t> since;
  std::optional<bool> follow;
  std::optional<bool> replay;
  std::optional<bool> stream;
  std::string match;  // empty: none
  std::string text;
  std::string keys;
  std::string shell;  // empty: the command's own
  std::optional<bool> pty;
  std::optional<std::int64_t> cols;
  std::optional<std::int64_t> rows;
  bool close = false;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> grace_ms;
  std::string digest;
  std::string name;  // of a tool, of a layer
  std::vector<std::string> paths;
  std::string label;
  std::string new_name;
  nlohmann::json tool_params;
  std::string id;  // of the call that is to be cancelled, as normal_id() has it
  Request request;
};

struct MethodCall {
  Service& service;
  ToolRunner* tools = nullptr;  // null: there are none
  ClientId client = 0;
  std::string id;  // normal_id(); empty: it cannot be cancelled
  MethodParams params;
  MethodReply reply;
};

// What is in a method's params beside its fields.
enum class Beside : std::uint8_t {
  kNothing,
  kRequest,     // all else is a request
  kToolParams,  // `params`, an object that the tool knows
  kCallId,      // `id`, a string or a number
};

struct Method {
  std::string_view name;
  ObjectSpec fields;  // members of MethodParams
  Beside beside = Beside::kNothing;
  bool for_operator = false;  // only the operator's side may call it
  // An error is the answer; else `reply` has been called, or will be.
  Status (*call)(MethodCall& call);
};

std::span<const Method> methods();
std::vector<std::string_view> method_names(std::span<const Method> methods = sbx::methods());

// What the methods that run a command take, and a line of batch: indented.
std::string request_schema_json();

// Errors: kUnknownMethod.
Result<const Method*> find_method(std::span<const Method> methods, std::string_view name);

// Errors: those of the strict reader, of check_fields() and of a request, with a pointer into the
// params.
Result<MethodParams> decode_method_params(const Method& method, std::string_view params);

// One text for one JSON value, however it was written; empty for what is no JSON.
std::string normal_id(std::string_view json_text);

}  // namespace sbx
