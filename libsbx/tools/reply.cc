// SPDX-License-Identifier: Apache-2.0
// The result's JSON, read leniently: it is our own.
#include "tools/reply.h"

#include <nlohmann/json.hpp>

#include "model/exit_status.h"

namespace sbx {
namespace {

using nlohmann::ordered_json;

std::string text_at(const ordered_json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

std::optional<int> number_at(const ordered_json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<int>();
}

// The member as JSON text; empty where it is absent, null or an empty list.
std::string json_at(const ordered_json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() || at->empty() ? "" : json_text(*at);
}

ErrorCode code_named(std::string_view name) {
  for (const ErrorMeaning& meaning : error_meanings()) {
    if (meaning.name == name) return meaning.code;
  }
  return ErrorCode::kInternal;
}

void read_reason(const ordered_json& body, Reply& reply) {
  const auto error = body.find("error");
  if (error != body.end() && error->is_object()) {
    reply.error_name = text_at(*error, "code");
    reply.error = read_error(*error);
    return;
  }
  if (reply.status != "denied") return;
  // The first refusal of the command policy says why.
  reply.error_name = error_name(ErrorCode::kDenied);
  reply.error = Error{ErrorCode::kDenied, "refused by the command policy", "", ""};
  const auto denials = body.find("denials");
  if (denials == body.end() || !denials->is_array() || denials->empty()) return;
  const ordered_json& denial = denials->front();
  reply.error->message = "refused: " + text_at(denial, "operation") + " " +
                         text_at(denial, "program") + " " + text_at(denial, "target");
  reply.error->hint = text_at(denial, "grant");
}

}  // namespace

Reply read_reply(const Result<std::string>& result) {
  Reply reply;
  if (!result.ok()) {
    reply.status = result.error().code == ErrorCode::kDenied ? "denied" : "error";
    reply.error = result.error();
    reply.error_name = error_name(result.error().code);
    return reply;
  }
  reply.body = result.value();
  const ordered_json body = parse_json(reply.body);
  if (!body.is_object()) return reply;
  reply.status = text_at(body, "status");
  reply.exit_code = number_at(body, "exit_code");
  reply.signal = signal_number(text_at(body, "signal"));
  reply.out = text_at(body, "stdout");
  reply.err = text_at(body, "stderr");
  const auto duration = body.find("duration_ms");
  if (duration != body.end() && duration->is_number()) reply.duration_ms = duration->get<double>();
  reply.cwd = text_at(body, "cwd");
  reply.limit = text_at(body, "limit");
  const auto running = body.find("is_running");
  reply.is_running = running != body.end() && running->is_boolean() && running->get<bool>();
  reply.approval = json_at(body, "approval");
  const auto json = body.find("result_json");
  if (json != body.end() && !json->is_null()) reply.result_json = json_text(*json);
  const auto sandbox = body.find("sandbox");
  if (sandbox != body.end() && sandbox->is_object()) reply.degraded = json_at(*sandbox, "degraded");
  read_reason(body, reply);
  return reply;
}

bool did_not_run(const Reply& reply) {
  return reply.status == "error" || reply.status == "denied" || reply.status == "needs_approval";
}

int exit_number(const Reply& reply) {
  End end{reply.status, reply.exit_code, reply.signal};
  if (reply.error) end.error = reply.error->code;
  if (reply.cancelled_by != 0) end.cancelled_by = reply.cancelled_by;
  return exit_status(end);
}

std::string reason(const Reply& reply) {
  if (reply.status == "needs_approval") {
    std::string text = "needs approval";
    const ordered_json approval = parse_json(reply.approval);
    const auto rules = approval.find("rules");
    if (rules != approval.end() && rules->is_array() && !rules->empty()) {
      const ordered_json& rule = rules->front();
      const std::string why = rule.is_object()   ? text_at(rule, "reason")
                              : rule.is_string() ? rule.get<std::string>()
                                                 : "";
      if (!why.empty()) text += ": " + why;
    }
    const std::string digest = text_at(approval, "digest");
    if (!digest.empty()) text += " (the operator grants it with --approve " + digest + ")";
    return text;
  }
  if (!reply.error) return reply.status;
  const Error& error = *reply.error;
  std::string text = error.message;
  // A place in the params, or a flag; the name of a rule or of a step tells a reader nothing.
  if (error.where.starts_with('/') || error.where.starts_with('-')) text += " at " + error.where;
  if (!error.hint.empty()) text += " (" + error.hint + ")";
  return text;
}

int tool_exit_status(const Reply& reply) { return did_not_run(reply) ? exit_number(reply) : 0; }

bool is_failure(const Reply& reply) {
  return did_not_run(reply) || reply.status == "timed_out" || reply.status == "cancelled" ||
         reply.status == "limit";
}

std::optional<Error> read_error(const ordered_json& error) {
  if (!error.is_object()) return std::nullopt;
  return Error{code_named(text_at(error, "code")), text_at(error, "message"),
               text_at(error, "where"), text_at(error, "hint")};
}

void add_exceptions(ordered_json& out, const Reply& reply) {
  if (reply.status == "timed_out") out["timed_out"] = true;
  if (!reply.limit.empty()) out["limit"] = reply.limit;
  if (!reply.degraded.empty()) out["degraded"] = parse_json(reply.degraded);
}

ordered_json error_json(std::string_view code, const Error& error) {
  ordered_json out = {{"code", code}, {"message", error.message}};
  out["where"] = error.where.empty() ? ordered_json(nullptr) : ordered_json(error.where);
  out["hint"] = error.hint.empty() ? ordered_json(nullptr) : ordered_json(error.hint);
  return out;
}

ordered_json parse_json(std::string_view text) {
  ordered_json value = ordered_json::parse(text, nullptr, false);
  return value.is_discarded() ? ordered_json(nullptr) : value;
}

}  // namespace sbx
