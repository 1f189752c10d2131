// SPDX-License-Identifier: Apache-2.0
// The rows, and what each method does with its params.
#include "rpc/methods.h"

#include <array>

#include "base/text.h"
#include "json/codec.h"
#include "json/reader.h"
#include "json/writer.h"
#include "policy/params.h"
#include "profile/fields.h"
#include "profile/forms.h"
#include "report/explain.h"
#include "report/json.h"
#include "report/json_parts.h"
#include "report/judgement.h"
#include "rpc/layer_patch.h"
#include "rpc/task_json.h"

namespace sbx {
namespace {

using std::chrono::milliseconds;

// --- fields ---

constexpr std::int64_t kMostGraceMs = 600'000;

bool is_not_empty(std::string_view text) { return !text.empty(); }
constexpr TextForm kNotEmpty = {is_not_empty, R"(^[\s\S])", "text that is not empty"};

constexpr ValueSpec kText = {.kind = Kind::kText, .form = &kNotEmpty};
constexpr ValueSpec kOptionalText = {.kind = Kind::kText, .nullable = true, .form = &kNotEmpty};
constexpr ValueSpec kInput = {.kind = Kind::kText, .nullable = true};
// These become words of sbx-layer's.
constexpr ValueSpec kLabel = {.kind = Kind::kText, .form = &forms::kLabel};
constexpr ValueSpec kOptionalLabel = {
    .kind = Kind::kText, .nullable = true, .form = &forms::kLabel};
constexpr ValueSpec kFlag = {.kind = Kind::kBool, .nullable = true};
constexpr ValueSpec kTime = {.kind = Kind::kCount, .nullable = true, .min = 1, .max = kWeekMs};
constexpr ValueSpec kGraceTime = {
    .kind = Kind::kCount, .nullable = true, .min = 1, .max = kMostGraceMs};
constexpr ValueSpec kOffset = {.kind = Kind::kCount, .nullable = true, .min = 0, .max = INT64_MAX};

constexpr FieldSpec kTask =
    required(field<&MethodParams::task_id>("task_id", "Which task.", kText));
constexpr FieldSpec kFollow =
    field<&MethodParams::follow>("follow", "Send what is written later as notifications.", kFlag);
constexpr FieldSpec kMatch = field<&MethodParams::match>(
    "match", "Send only whole lines that match this RE2 expression, as task.match.", kOptionalText);
constexpr FieldSpec kGrace = field<&MethodParams::grace_ms>(
    "grace_ms", "Between SIGTERM and SIGKILL, in milliseconds. Absent: 2000.", kGraceTime);

bool is_kept(std::string_view text) { return text == "kept"; }
constexpr TextForm kKept = {is_kept, "^kept$", "\"kept\""};
constexpr std::array kRunFields = {
    field<&MethodParams::stream>("stream", "Send what is written as notifications.", kFlag),
    field<&MethodParams::shell>(
        "shell", "\"kept\": in the session's one shell, where what earlier commands set is there.",
        {.kind = Kind::kText, .nullable = true, .form = &kKept})};
constexpr ValueSpec kColumns = {
    .kind = Kind::kCount, .nullable = true, .min = 1, .max = TerminalSize::kMostColumns};
constexpr ValueSpec kRows = {
    .kind = Kind::kCount, .nullable = true, .min = 1, .max = TerminalSize::kMostRows};
constexpr FieldSpec kColsField =
    field<&MethodParams::cols>("cols", "Of the terminal, in characters. Absent: 80.", kColumns);
constexpr FieldSpec kRowsField =
    field<&MethodParams::rows>("rows", "Of the terminal, in lines. Absent: 24.", kRows);
constexpr std::array kStartFields = {
    kFollow, kMatch,
    field<&MethodParams::pty>("pty", "true: the task gets a terminal of its own.", kFlag),
    kColsField, kRowsField};
constexpr std::array kScreenFields = {kTask};
constexpr std::array kResizeFields = {kTask, required(kColsField), required(kRowsField)};
constexpr std::array kAttachFields = {kTask, kColsField, kRowsField};
constexpr std::array kStatusFields = {
    field<&MethodParams::task_id>("task_id", "Which task. Absent: all of them.", kOptionalText)};
constexpr std::array kOutputFields = {
    kTask, field<&MethodParams::since>("since", "The \"next\" of the answer before.", kOffset),
    kFollow,
    field<&MethodParams::replay>(
        "replay", "true, with follow: what there is comes as notifications too.", kFlag),
    kMatch};
constexpr std::array kStdinFields = {
    kTask, field<&MethodParams::text>("text", "What the task shall read.", kInput),
    field<&MethodParams::keys>(
        "keys", "Keys that are pressed after the text, such as \"Up Escape F1 C-c\".",
        kOptionalText),
    field<&MethodParams::close>("close", "true: end of file after the text.", kFlag)};
constexpr std::array kWaitFields = {
    kTask, field<&MethodParams::timeout_ms>(
               "timeout_ms", "How long to wait, in milliseconds. Absent: to the end.", kTime)};
constexpr std::array kKillFields = {kTask, kGrace};
constexpr std::array kEndFields = {kGrace};
constexpr std::array kToolFields = {
    required(field<&MethodParams::name>("name", "Which tool.", kText))};
constexpr ValueSpec kPaths = {.kind = Kind::kList, .nullable = true, .item = &kText};
constexpr FieldSpec kLayerName = field<&MethodParams::name>(
    "name", "Which layer of the workspace. Absent: the session's own.", kOptionalLabel);
constexpr FieldSpec kLayerPaths = field<&MethodParams::paths>(
    "paths", "Only these, absolute or relative to the workspace. Absent: all.", kPaths);
constexpr std::array kLayerFields = {kLayerName};
constexpr std::array kLayerPathFields = {kLayerName, kLayerPaths};
constexpr std::array kCheckpointFields = {
    kLayerName, field<&MethodParams::label>("label", "Of the checkpoint. Absent: one is made.",
                                            kOptionalLabel)};
constexpr std::array kRollbackFields = {
    kLayerName, required(field<&MethodParams::label>("label", "Of a checkpoint.", kLabel))};
constexpr std::array kBranchFields = {
    kLayerName,
    required(field<&MethodParams::new_name>("new", "Name of the layer that is made.", kLabel))};
constexpr std::array kApproveFields = {required(
    field<&MethodParams::digest>("digest", "Of an answer with status needs_approval.", kText))};
constexpr std::array kApprovalsFields = {field<&MethodParams::digest>(
    "digest", "Only this one, with all that the digest covers.", kOptionalText)};

// --- calls ---

milliseconds grace_of(const MethodCall& call) {
  return call.params.grace_ms ? milliseconds(*call.params.grace_ms) : Service::kGrace;
}

// A reply of the service's that writes the task that it is given.
Ask ask(const MethodCall& call, std::function<void(JsonWriter&, const Task&)> write) {
  return {call.client, call.id,
          [reply = call.reply, write = std::move(write)](const Result<TaskPointer>& answer) {
            if (!answer.ok()) return reply(answer.error());
            reply(WriteValue([&](JsonWriter& json) { write(json, *answer.value()); }));
          }};
}

// {name: value}
Status answer_flag(const MethodCall& call, std::string_view name, bool value) {
  call.reply(WriteValue([&](JsonWriter& json) {
    json.begin_object();
    json.key(name);
    json.boolean(value);
    json.end_object();
  }));
  return {};
}

void write_run(JsonWriter& json, const Task& task) {
  const Outcome& outcome = *task.outcome();
  json.begin_object();
  write_outcome_members(json, outcome);
  if (const auto& shell = task.shell()) {
    json.key("shell");
    json.begin_object();
    json.key("kept");
    json.boolean(shell->kept);
    json.key("restarted");
    json.boolean(shell->restarted);
    json.key("reason");
    json.string_or_null(shell->reason);
    json.end_object();
  }
  json.end_object();
}

Status run(MethodCall& call) {
  RunCall command{std::move(call.params.request)};
  command.is_followed = call.params.stream.value_or(false);
  command.in_shell = !call.params.shell.empty();
  call.service.run(ask(call, write_run), std::move(command));
  return {};
}

TerminalSize size_of(const MethodParams& params) {
  TerminalSize size;
  if (params.cols) size.columns = static_cast<int>(*params.cols);
  if (params.rows) size.rows = static_cast<int>(*params.rows);
  return size;
}

Status start(MethodCall& call) {
  RunCall command{std::move(call.params.request)};
  command.is_followed = call.params.follow.value_or(true);
  command.match = std::move(call.params.match);
  if (call.params.pty.value_or(false)) {
    command.terminal = size_of(call.params);
  } else if (call.params.cols || call.params.rows) {
    return Error{ErrorCode::kBadValue, "cols and rows are of a terminal", "/pty", "set it to true"};
  }
  call.service.start(ask(call,
                         [](JsonWriter& json, const Task& task) {
                           task.never_began() ? write_run(json, task) : write_started(json, task);
                         }),
                     std::move(command));
  return {};
}

Status shell(MethodCall& call) {
  SBX_TRY(const TaskPointer task, call.service.shell());
  call.reply(WriteValue([&](JsonWriter& json) { write_started(json, *task); }));
  return {};
}

Status list(MethodCall& call) {
  call.reply(WriteValue([&](JsonWriter& json) { write_list(json, call.service.list()); }));
  return {};
}

Status status(MethodCall& call) {
  if (call.params.task_id.empty()) return list(call);
  call.service.status(ask(call, write_task_status), call.params.task_id);
  return {};
}

Status output(MethodCall& call) {
  const MethodParams& params = call.params;
  OutputCall wanted;
  wanted.task_id = params.task_id;
  wanted.since = static_cast<std::uint64_t>(params.since.value_or(0));
  wanted.is_followed = params.follow.value_or(!params.match.empty());
  wanted.is_replayed = params.replay.value_or(false);
  wanted.match = params.match;
  call.service.output(ask(call,
                          [wanted](JsonWriter& json, const Task& task) {
                            write_output(json, task, output_begins(wanted, task));
                          }),
                      wanted);
  return {};
}

Status write_stdin(MethodCall& call) {
  MethodParams& params = call.params;
  if (!params.keys.empty() && params.close) {
    return Error{ErrorCode::kBadValue, "keys and close exclude each other", "/close",
                 "C-d is the end of file of a terminal"};
  }
  if (!params.keys.empty()) {
    SBX_TRY(const std::string keys, call.service.key_text(params.task_id, params.keys));
    params.text += keys;
  }
  const auto write = [size = params.text.size(), close = params.close](JsonWriter& json,
                                                                       const Task&) {
    json.begin_object();
    json.key("written");
    json.count(size);
    json.key("closed");
    json.boolean(close);
    json.end_object();
  };
  call.service.write_stdin(ask(call, write), params.task_id, std::move(params.text), params.close);
  return {};
}

Status resize(MethodCall& call) {
  SBX_TRY(const TerminalSize size, call.service.resize(call.params.task_id, size_of(call.params)));
  call.reply(WriteValue([&](JsonWriter& json) {
    json.begin_object();
    write_size(json, size);
    json.end_object();
  }));
  return {};
}

Status screen(MethodCall& call) {
  return call.service.screen(
      call.client, call.params.task_id, [reply = call.reply](const Result<std::string>& answer) {
        if (!answer.ok()) return reply(answer.error());
        reply(WriteValue([&](JsonWriter& json) { write_screen(json, answer.value()); }));
      });
}

Status attach(MethodCall& call) {
  std::optional<TerminalSize> size;
  if (call.params.cols || call.params.rows) size = size_of(call.params);
  return call.service.attach(
      call.client, call.params.task_id, size,
      [reply = call.reply](const Result<std::string>& repaint, const Task& task) {
        reply(WriteValue([&](JsonWriter& json) {
          write_attached(json, task, repaint.ok() ? repaint.value() : std::string());
        }));
      });
}

Status wait(MethodCall& call) {
  call.service.wait(ask(call, write_task_status), call.params.task_id, call.params.timeout_ms);
  return {};
}

Status kill(MethodCall& call) {
  call.service.kill(ask(call, write_task_status), call.params.task_id, grace_of(call));
  return {};
}

Status reset(MethodCall& call) {
  const auto answer = [call](const Result<TaskPointer>& done) {
    if (!done.ok()) return call.reply(done.error());
    (void)answer_flag(call, "workspace_cleared", call.service.options().own_workspace);
  };
  call.service.reset({call.client, call.id, answer}, grace_of(call));
  return {};
}

Status check(MethodCall& call) {
  SBX_TRY(const guard::Judgement judgement, call.service.check(call.params.request));
  call.reply(WriteValue([&](JsonWriter& json) { write_judgement(json, judgement); }));
  return {};
}

Status explain(MethodCall& call) {
  call.service.explain(
      call.client, call.params.request, [call](const Result<ExplainedRequest>& explained) {
        if (!explained.ok()) return call.reply(explained.error());
        const auto& [policy, run] = explained.value();
        call.reply(WriteValue([&, &policy = policy, &run = run](JsonWriter& json) {
          json.verbatim(explain_json(run.plan, *policy, run.judgement, run.layer_kind));
        }));
      });
  return {};
}

// Of a call that could not be made: it points into the tool's params.
Error tool_mistake(Error error) {
  if (error.code != ErrorCode::kUnknownMethod) error.where = "/params" + error.where;
  return error;
}

// The members of the structured answer, the text of a text tool, and what sbx-run makes of it.
void write_tool_answer(JsonWriter& json, const std::string& tool, const ToolAnswer& answer) {
  json.begin_object();
  answer.write_members(json);
  if (answer.is_text) write_member(json, "text", answer.own_text());
  json.key("tool");
  json.begin_object();
  write_member(json, "name", tool);
  json.key("is_error");
  json.boolean(answer.is_error);
  json.key("exit_status");
  json.integer(answer.exit_status);
  json.end_object();
  json.end_object();
}

Status tool(MethodCall& call) {
  const std::string& name = call.params.name;
  if (call.tools == nullptr) {
    return Error{ErrorCode::kUnknownMethod,
                 "no such tool: " + escape_control_bytes(name.substr(0, 100)), "/name",
                 "this session has no tools"};
  }
  Result<ToolCall> decoded = call.tools->decode_params(name, std::move(call.params.tool_params));
  if (!decoded.ok()) return tool_mistake(std::move(decoded.error()));
  call.tools->run(
      {call.client, call.id}, std::move(decoded).value(),
      [reply = call.reply, name](const ToolAnswer& answer) {
        if (answer.mistake) return reply(tool_mistake(*answer.mistake));
        reply(WriteValue([&](JsonWriter& json) { write_tool_answer(json, name, answer); }));
      });
  return {};
}

Status approve(MethodCall& call) {
  SBX_CHECK_OK(call.service.approve(call.params.digest));
  return answer_flag(call, "approved", true);
}

Status decline(MethodCall& call) {
  return answer_flag(call, "declined", call.service.decline(call.params.digest));
}

Status approvals(MethodCall& call) {
  call.reply(WriteValue(
      [&](JsonWriter& json) { write_questions(json, call.service, call.params.digest); }));
  return {};
}

// What sbx-layer calls its words, as params.
std::string layer_param(const std::string& where, ErrorCode code) {
  if (where == "NAME") return "/name";
  if (where == "LABEL") return "/label";
  if (where == "NEW") return "/new";
  if (where == "PATH") return "/paths";
  const bool is_name = code == ErrorCode::kLayerNotFound || code == ErrorCode::kBadValue;
  return where == "layer" && is_name ? "/name" : where;
}

// What sbx-layer refuses with: an outcome, whose error is ours.
Error layer_refusal(const LayerAnswer& answer) {
  const Result<nlohmann::json> outcome = read_json_strict(answer.text);
  if (!outcome.ok() || !outcome.value().is_object() || !outcome.value().contains("error") ||
      !outcome.value()["error"].is_object()) {
    return Error{ErrorCode::kInternal, "sbx-layer gave no answer", "layer", ""};
  }
  Error error = read_error(outcome.value()["error"], ErrorCode::kInternal);
  if (error.code == ErrorCode::kBadFlag) error.code = ErrorCode::kBadValue;
  error.where = layer_param(error.where, error.code);
  return error;
}

Status act(MethodCall& call, const char* action, bool changes) {
  Service::LayerCall wanted{call.client,
                            action,
                            call.params.name,
                            call.params.paths,
                            call.params.label.empty() ? call.params.new_name : call.params.label,
                            changes,
                            call.id};
  if (wanted.action == "diff") wanted.shown = redact_patch;
  return call.service.act(wanted, [reply = call.reply](const Result<LayerAnswer>& answer) {
    if (!answer.ok()) return reply(answer.error());
    if (answer.value().status != 0) return reply(layer_refusal(answer.value()));
    std::string text = answer.value().text;
    while (text.ends_with('\n')) text.pop_back();
    reply(WriteValue([text = std::move(text)](JsonWriter& json) { json.verbatim(text); }));
  });
}

Status layer_list(MethodCall& call) { return act(call, "list", false); }
Status layer_diff(MethodCall& call) { return act(call, "diff", false); }
Status layer_commit(MethodCall& call) { return act(call, "commit", true); }
Status layer_undo(MethodCall& call) { return act(call, "undo", true); }
Status layer_discard(MethodCall& call) { return act(call, "discard", true); }
Status layer_checkpoint(MethodCall& call) { return act(call, "checkpoint", true); }
Status layer_rollback(MethodCall& call) { return act(call, "rollback", true); }
Status layer_branch(MethodCall& call) { return act(call, "branch", true); }

Status cancel(MethodCall& call) {
  return answer_flag(call, "cancelled", call.service.cancel(call.client, call.params.id));
}

Status shutdown(MethodCall& call) {
  call.service.shutdown(grace_of(call));
  call.reply(WriteValue([](JsonWriter& json) { json.verbatim("{}"); }));
  return {};
}

constexpr auto kMethods = std::to_array<Method>({
    {.name = "run", .fields = {kRunFields}, .beside = Beside::kRequest, .call = run},
    {.name = "start", .fields = {kStartFields}, .beside = Beside::kRequest, .call = start},
    {.name = "shell", .fields = {}, .call = shell},
    {.name = "status", .fields = {kStatusFields}, .call = status},
    {.name = "output", .fields = {kOutputFields}, .call = output},
    {.name = "stdin", .fields = {kStdinFields}, .call = write_stdin},
    {.name = "resize", .fields = {kResizeFields}, .call = resize},
    {.name = "screen", .fields = {kScreenFields}, .call = screen},
    {.name = "attach", .fields = {kAttachFields}, .call = attach},
    {.name = "wait", .fields = {kWaitFields}, .call = wait},
    {.name = "kill", .fields = {kKillFields}, .call = kill},
    {.name = "list", .fields = {}, .call = list},
    {.name = "reset", .fields = {kEndFields}, .call = reset},
    {.name = "check", .fields = {}, .beside = Beside::kRequest, .call = check},
    {.name = "explain", .fields = {}, .beside = Beside::kRequest, .call = explain},
    {.name = "tool", .fields = {kToolFields}, .beside = Beside::kToolParams, .call = tool},
    {.name = "approve", .fields = {kApproveFields}, .for_operator = true, .call = approve},
    {.name = "decline", .fields = {kApproveFields}, .for_operator = true, .call = decline},
    {.name = "approvals", .fields = {kApprovalsFields}, .for_operator = true, .call = approvals},
    {.name = "layer.list", .fields = {}, .call = layer_list},
    {.name = "layer.diff", .fields = {kLayerPathFields}, .call = layer_diff},
    {.name = "layer.commit",
     .fields = {kLayerPathFields},
     .for_operator = true,
     .call = layer_commit},
    {.name = "layer.undo", .fields = {kLayerFields}, .for_operator = true, .call = layer_undo},
    {.name = "layer.discard",
     .fields = {kLayerPathFields},
     .for_operator = true,
     .call = layer_discard},
    {.name = "layer.checkpoint", .fields = {kCheckpointFields}, .call = layer_checkpoint},
    {.name = "layer.rollback", .fields = {kRollbackFields}, .call = layer_rollback},
    {.name = "layer.branch", .fields = {kBranchFields}, .call = layer_branch},
    {.name = "cancel", .fields = {}, .beside = Beside::kCallId, .call = cancel},
    {.name = "shutdown", .fields = {kEndFields}, .call = shutdown},
});

}  // namespace

std::span<const Method> methods() { return kMethods; }

std::string request_schema_json() {
  std::vector<FieldSpec> beside;
  for (const Method& method : kMethods) {
    if (method.beside != Beside::kRequest) continue;
    beside.insert(beside.end(), method.fields.fields.begin(), method.fields.fields.end());
  }
  nlohmann::ordered_json schema = request_schema(beside);
  schema["properties"]["id"] = {{"description", "Of a line of batch, which must have one."},
                                {"type", "string"},
                                {"minLength", 1}};
  return schema.dump(2) + "\n";
}

std::vector<std::string_view> method_names(std::span<const Method> methods) {
  std::vector<std::string_view> names;
  for (const Method& method : methods) names.push_back(method.name);
  return names;
}

}  // namespace sbx
