// SPDX-License-Identifier: Apache-2.0
// Methods and calls. A call that waits for a person is answered with a question (2026-07-28: the
// client calls again with the answer) or asks one of its own (the revisions before).
#include "rpc/mcp.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "report/json_parts.h"
#include "rpc/layer_patch.h"
#include "rpc/mcp_layer.h"
#include "rpc/mcp_message.h"
#include "rpc/mcp_progress.h"
#include "rpc/task_json.h"
#include "tools/json_text.h"

namespace sbx {
namespace {

constexpr std::chrono::minutes kApprovalLasts{10};
constexpr std::size_t kMostCalls = 256;
constexpr int kListLastsMs = 3'600'000;  // the list of tools does not change while we run
constexpr std::string_view kQuestion = "approval";
constexpr std::string_view kShell = "shell";  // whose calls for a task are told what it writes

constexpr std::string_view kInstructions =
    "Commands run in a sandbox: paths outside the workspace are not there or not writable, and the "
    "network is closed unless the operator opened it. An error says what the operator would add.";

constexpr auto kLogLevels = std::to_array<std::string_view>(
    {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"});

// Null is absent.
bool has(const McpJson& object, std::string_view key) { return !member(object, key).is_null(); }

// No line of what the caller wrote is taken for one of ours: each is indented.
void quote(std::string& message, std::string_view text) {
  for (const std::string_view line : split(text, '\n')) message += "\n    " + escape_lines(line);
}

// Of a file or an input: its beginning, where it is long.
void quote_some(std::string& message, std::string_view text) {
  constexpr std::size_t kMost = 4096;
  const std::size_t shown = valid_utf8_prefix(text.substr(0, kMost));
  quote(message, text.substr(0, shown));
  if (shown != text.size()) message += "\n(" + std::to_string(text.size()) + " bytes in all)";
}

// What the user is asked: all that the digest covers of the caller's.
McpJson question(const ToolCall& call, const Approval& approval) {
  const Request& request = call.request;
  const bool is_task = call.mode == ToolMode::kBackground;
  std::string message = is_task ? "Run this command in the background?\n" : "Run this command?\n";
  for (const Finding& rule : approval.rules) {
    message += "\n- " + escape_control_bytes(rule.reason);
    if (!rule.target.empty()) message += ": " + escape_control_bytes(rule.target);
  }
  message += "\n";
  quote(message, request.command);
  const auto add = [&](std::string_view what, std::string_view name, std::string_view text) {
    message += "\n\n" + std::string(what) + " " + escape_control_bytes(name) + ":";
    quote_some(message, text);
  };
  if (request.cwd) add("its", "directory", *request.cwd);
  for (const auto& [name, value] : request.env) add("the variable", name, value);
  if (request.stdin_text) add("its", "input", *request.stdin_text);
  for (const RequestFile& file : request.files) add("the file", file.path, file.content);
  return {{"message", message},
          {"requestedSchema", {{"type", "object"}, {"properties", McpJson::object()}}}};
}

}  // namespace

class McpServer::Impl {
 public:
  Impl(Service& service, ToolRunner& runner, McpOptions options, Send send)
      : service_(service),
        runner_(runner),
        options_(std::move(options)),
        send_(std::move(send)),
        states_(options_.key, kApprovalLasts),
        client_(service.add_client({[this](const TaskEvent& event) { told(event); },
                                    {},
                                    [this](const std::string& digest, const HttpQuestion& about) {
                                      return ask_about(digest, about);
                                    }})) {}
  ~Impl() { service_.remove_client(client_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void receive(std::string_view line) {
    auto read = read_mcp_message(line);
    if (const auto* refusal = std::get_if<McpRefusal>(&read)) return send_(mcp_error(*refusal));
    const McpMessage& message = std::get<McpMessage>(read);
    if (message.kind == McpMessage::Kind::kResponse) return answered(message);
    const McpJson params = parse_ordered_json(message.params);
    if (message.kind == McpMessage::Kind::kRequest) return request(message, params);
    if (message.method == "notifications/cancelled") cancelled(params);
  }

  void refuse_long_line() {
    const RpcRefusal refusal = sbx::refuse_long_line();
    refuse(McpRefusal{refusal.id, refusal.code, refusal.error});
  }

  std::optional<Clock::time_point> deadline() const {
    std::optional<Clock::time_point> first;
    for (const auto& [id, call] : calls_) {
      const auto due = call.progress.due();
      if (due && (!first || *due < *first)) first = due;
    }
    return first;
  }

  void tick() {
    const auto now = Clock::now();
    for (auto& [id, call] : calls_) {
      if (const auto params = call.progress.take(now)) {
        send_(mcp_notification("notifications/progress", parse_ordered_json(*params)));
      }
    }
  }

  bool has_calls() const { return !calls_.empty(); }

 private:
  struct Call {
    std::string tool;
    std::string arguments;
    McpContext context;
    McpProgress progress;
    std::string question;  // the id of our own request to the client; empty: none
    std::string digest;    // that the question is about
    std::string task_id;   // that the call names, whose output it is told; empty: none
    bool was_approved = false;
    std::uint64_t serial = 0;  // a second call under a used id is another call
  };

  void refuse(const std::string& id, int code, std::string message, std::string data = "") {
    send_(mcp_error(mcp_refusal(id, code, std::move(message), std::move(data))));
  }

  void refuse(const McpRefusal& refusal) { send_(mcp_error(refusal)); }

  void answer(const std::string& id, const McpContext& context, McpJson result) {
    send_(mcp_result(id, std::move(result), context.is_modern, options_.version));
  }

  // --- methods ---

  void request(const McpMessage& message, const McpJson& params) {
    if (message.method == "initialize") return initialize(message.id, params);
    if (message.method == "ping" && !has(params, "_meta"))
      return answer(message.id, {}, McpJson::object());
    auto read = read_mcp_context(message.id, params, is_open_, client_elicits_);
    if (const auto* refusal = std::get_if<McpRefusal>(&read)) return send_(mcp_error(*refusal));
    const McpContext& context = std::get<McpContext>(read);
    if (message.method == "tools/call") return call_tool(message.id, params, context);
    if (message.method == "tools/list") return list_tools(message.id, params, context);
    if (message.method == "server/discover" && context.is_modern) {
      return discover(message.id, context);
    }
    if (message.method == "ping" && !context.is_modern) {
      return answer(message.id, context, McpJson::object());
    }
    if (message.method == "logging/setLevel" && !context.is_modern) {
      return set_level(message.id, params, context);
    }
    refuse(message.id, kMcpUnknownMethod, "Method not found: " + message.method.substr(0, 100));
  }

  void initialize(const std::string& id, const McpJson& params) {
    const std::string wanted = text_at(params, "protocolVersion");
    if (wanted.empty())
      return refuse(mcp_bad_member(id, params, "protocolVersion", "a revision's name"));
    is_open_ = true;
    client_elicits_ = params.contains("capabilities") && elicits_forms(params["capabilities"]);
    const bool known = wanted == kMcpLegacy || wanted == kMcpOldest;
    answer(id, {},
           {{"protocolVersion", known ? wanted : std::string(kMcpLegacy)},
            {"capabilities", {{"tools", McpJson::object()}, {"logging", McpJson::object()}}},
            {"serverInfo", {{"name", "sbx"}, {"title", "sbx"}, {"version", options_.version}}},
            {"instructions", kInstructions}});
  }

  void discover(const std::string& id, const McpContext& context) {
    answer(id, context,
           {{"supportedVersions", McpJson::array({kMcpModern})},
            {"capabilities", {{"tools", McpJson::object()}, {"logging", McpJson::object()}}},
            {"serverInfo", {{"name", "sbx"}, {"version", options_.version}}},
            {"instructions", kInstructions},
            {"ttlMs", kListLastsMs},
            {"cacheScope", "private"}});
  }

  void set_level(const std::string& id, const McpJson& params, const McpContext& context) {
    const std::string level = text_at(params, "level");
    if (level.empty()) return refuse(mcp_bad_member(id, params, "level", "a level's name"));
    if (std::find(kLogLevels.begin(), kLogLevels.end(), level) == kLogLevels.end()) {
      return refuse(
          mcp_bad_value(id, "level", "\"level\" must be one of debug, info, …, emergency"));
    }
    log_level_ = level;
    answer(id, context, McpJson::object());
  }

  void list_tools(const std::string& id, const McpJson& params, const McpContext& context) {
    if (has(params, "cursor"))
      return refuse(mcp_bad_value(id, "cursor", "there is no such cursor"));
    McpJson tools = McpJson::array();
    for (const std::string& name : options_.tools) {
      tools.push_back(parse_ordered_json(tool_definition(name, ToolFormat::kMcp).value()));
    }
    if (service_.has_layer()) {
      for (McpJson& tool : layer_tool_definitions()) tools.push_back(std::move(tool));
    }
    McpJson result = {{"tools", std::move(tools)}};
    if (context.is_modern) {
      result["ttlMs"] = kListLastsMs;
      result["cacheScope"] = "private";
    }
    answer(id, context, std::move(result));
  }

  // --- calls ---

  void call_tool(const std::string& id, const McpJson& params, const McpContext& context) {
    const std::string name = text_at(params, "name");
    if (name.empty()) return refuse(mcp_bad_member(id, params, "name", "a tool's name"));
    const bool is_offered =
        std::find(options_.tools.begin(), options_.tools.end(), name) != options_.tools.end() ||
        (service_.has_layer() && is_layer_tool(name));
    if (!is_offered) {
      McpRefusal refusal = mcp_bad_value(id, "name", "Unknown tool: " + name.substr(0, 100));
      refusal.error.code = ErrorCode::kUnknownMethod;
      refusal.error.hint = "tools/list names them";
      return refuse(refusal);
    }
    const bool has_arguments = has(params, "arguments");
    if (has_arguments && !params["arguments"].is_object()) {
      return refuse(mcp_bad_member(id, params, "arguments", "an object"));
    }
    if (calls_.contains(id)) return refuse(id, kMcpInvalidRequest, "this id is in use");
    if (calls_.size() >= kMostCalls) {
      return refuse(id, kMcpInvalidRequest, "too many calls at once");
    }
    Call call;
    call.tool = name;
    call.arguments = has_arguments ? params["arguments"].dump() : "{}";
    call.context = context;
    call.progress = McpProgress(context.progress_token, Clock::now());
    call.serial = ++next_serial_;
    if (has(params, "requestState")) return resume(id, params, std::move(call));
    calls_.insert_or_assign(id, std::move(call));
    run(id, "");
  }

  // The client calls again, with what the user said.
  void resume(const std::string& id, const McpJson& params, Call call) {
    const Result<std::string> opened =
        states_.open(text_at(params, "requestState"), fingerprint(call), Clock::now());
    if (!opened.ok()) return refuse(mcp_bad_value(id, "requestState", opened.error().message));
    call.digest = opened.value();
    calls_.insert_or_assign(id, std::move(call));
    const auto responses = params.find("inputResponses");
    const bool has_response = responses != params.end() && responses->is_object() &&
                              responses->contains(kQuestion) && (*responses)[kQuestion].is_object();
    // Without the answer the question is asked again, by finding out again what it is.
    if (!has_response) return run(id, "");
    decided(id, text_at((*responses)[kQuestion], "action") == "accept");
  }

  static std::string fingerprint(const Call& call) {
    return sha256_hex(call.tool + "\n" + call.arguments);
  }

  void run(const std::string& id, const std::string& digest) {
    Call& call = calls_.at(id);
    if (is_layer_tool(call.tool)) return run_layer(id);
    Result<ToolCall> decoded = runner_.decode(call.tool, call.arguments);
    if (!decoded.ok()) {
      return finish(
          id, tool_refusal(call.tool, decoded.error(), runner_.refused_command(), call.arguments));
    }
    if (!digest.empty()) decoded.value().request.approval = digest;
    if (call.tool == kShell) call.task_id = decoded.value().task_id;
    ToolRunner::Caller caller{client_, id, call.progress.is_wanted(), true};
    runner_.run(std::move(caller), std::move(decoded).value(),
                [this, id, serial = call.serial](const ToolAnswer& answer) {
                  const auto found = calls_.find(id);
                  if (found != calls_.end() && found->second.serial == serial) finish(id, answer);
                });
  }

  void finish(const std::string& id, const ToolAnswer& answer) {
    Call& call = calls_.at(id);
    const Approval* const approval = answer.approval();
    const bool asks = approval != nullptr && !call.was_approved;
    if (asks && call.context.has_elicitation)
      return ask(id, question(answer.call, *approval), approval->digest);
    send_answer(id, answer);
  }

  void send_answer(const std::string& id, const ToolAnswer& tool) {
    const McpContext context = calls_.at(id).context;
    calls_.erase(id);
    send_(mcp_result(id, context.is_modern, options_.version, [&](JsonWriter& json) {
      std::string text = tool.own_text();
      if (text.ends_with('\n')) text.pop_back();
      json.key("content");
      json.begin_array();
      json.begin_object();
      write_member(json, "type", "text");
      write_member(json, "text", text);
      json.end_object();
      json.end_array();
      json.key("structuredContent");
      json.begin_object();
      tool.write_members(json);
      json.end_object();
      json.key("isError");
      json.boolean(tool.is_error);
    }));
  }

  // --- the session's layer ---

  void send_layer(const std::string& id, const Result<LayerAnswer>& answered) {
    const McpContext context = calls_.at(id).context;
    const std::string tool = calls_.at(id).tool;
    calls_.erase(id);
    answer(id, context, layer_result(tool, answered));
  }

  using LayerNext = std::function<void(const Result<LayerAnswer>& answer)>;
  void act(const std::string& id, const Service::LayerCall& wanted, LayerNext next) {
    const Status begun =
        service_.act(wanted, [this, id, serial = calls_.at(id).serial,
                              next = std::move(next)](const Result<LayerAnswer>& answer) {
          const auto found = calls_.find(id);
          if (found != calls_.end() && found->second.serial == serial) next(answer);
        });
    if (!begun.ok()) send_layer(id, begun.error());
  }

  void run_layer(const std::string& id) {
    const Call& call = calls_.at(id);
    const Result<LayerToolCall> read = read_layer_call(call.tool, call.arguments);
    if (!read.ok()) return send_layer(id, read.error());
    Service::LayerCall wanted;
    wanted.client = client_;
    wanted.paths = read.value().paths;
    wanted.word = read.value().label;
    wanted.changes = call.tool == kLayerCheckpointTool;
    wanted.action = wanted.changes ? "checkpoint" : "diff";
    wanted.id = id;
    const bool commits = call.tool == kLayerCommitTool;
    if (!wanted.changes && !commits) wanted.shown = redact_patch;
    act(id, wanted, [this, id, wanted, commits](const Result<LayerAnswer>& answer) {
      if (commits && answer.ok() && answer.value().status == 0) {
        return commit(id, wanted, answer.value().text);
      }
      send_layer(id, answer);
    });
  }

  // What the user agreed to, and nothing else, is made real.
  void commit(const std::string& id, Service::LayerCall wanted, const std::string& diff) {
    Call& call = calls_.at(id);
    const std::string digest = changes_digest(diff);
    if (call.was_approved && digest == call.digest) {
      wanted.action = "commit";
      wanted.changes = true;
      return act(id, wanted,
                 [this, id](const Result<LayerAnswer>& answer) { send_layer(id, answer); });
    }
    if (changes_nothing(diff)) {
      return send_layer(id, Error{ErrorCode::kPathNotFound, "the layer changes nothing there",
                                  "/paths", "layer_diff tells what it changes"});
    }
    if (call.was_approved || !call.context.has_elicitation) {
      return send_layer(
          id, Error{ErrorCode::kNeedsApproval,
                    call.was_approved ? "the changes are not those that the user agreed to"
                                      : "the user has to commit, and cannot be asked here",
                    "", "sbx-run layer commit NAME"});
    }
    ask(id, commit_question(diff), digest);
  }

  // --- approvals ---

  void ask(const std::string& id, McpJson params, const std::string& digest) {
    Call& call = calls_.at(id);
    call.digest = digest;
    if (!call.context.is_modern) {
      call.question = "sbx-" + std::to_string(++next_question_);
      return send_(mcp_request(call.question, "elicitation/create", params));
    }
    params["mode"] = "form";
    McpJson result = {
        {"resultType", "input_required"},
        {"inputRequests", {{kQuestion, {{"method", "elicitation/create"}, {"params", params}}}}},
        {"requestState", states_.seal(call.digest, fingerprint(call), Clock::now())}};
    const McpContext context = call.context;
    calls_.erase(id);
    answer(id, context, std::move(result));
  }

  void decided(const std::string& id, bool accepted) {
    Call& call = calls_.at(id);
    if (!accepted) {
      const Error declined{ErrorCode::kDenied, "the user declined", "", ""};
      if (is_layer_tool(call.tool)) return send_layer(id, declined);
      return send_answer(id, tool_refusal(call.tool, declined));
    }
    call.was_approved = true;
    if (is_layer_tool(call.tool)) return run_layer(id);
    const Status granted = service_.approve(call.digest);
    if (granted.ok()) return run(id, call.digest);
    send_answer(id, tool_refusal(call.tool, granted.error()));
  }

  // While the call goes on: only a client that is asked by requests can be.
  bool ask_about(const std::string& digest, const HttpQuestion& about) {
    if (!is_open_ || !client_elicits_) return false;
    const std::string id = "sbx-" + std::to_string(++next_question_);
    http_questions_[McpJson(id).dump()] = digest;
    send_(mcp_request(
        id, "elicitation/create",
        {{"message", "Allow " + question_words(about) + "?"},
         {"requestedSchema", {{"type", "object"}, {"properties", McpJson::object()}}}}));
    return true;
  }

  // The answer to a question of ours.
  void answered(const McpMessage& message) {
    if (const auto http = http_questions_.find(message.id); http != http_questions_.end()) {
      const std::string digest = std::move(http->second);
      http_questions_.erase(http);
      const McpJson said = parse_ordered_json(message.result);
      if (!said.is_object() || text_at(said, "action") != "accept") {
        return static_cast<void>(service_.decline(digest));
      }
      return static_cast<void>(service_.approve(digest));
    }
    const auto asked = std::find_if(calls_.begin(), calls_.end(), [&](const auto& entry) {
      return !entry.second.question.empty() && message.id == McpJson(entry.second.question).dump();
    });
    if (asked == calls_.end()) return;
    asked->second.question.clear();
    const McpJson result = parse_ordered_json(message.result);
    const std::string id = asked->first;
    decided(id, result.is_object() && text_at(result, "action") == "accept");
  }

  // --- notifications ---

  void cancelled(const McpJson& params) {
    const auto id = params.find("requestId");
    const auto found = id == params.end() ? calls_.end() : calls_.find(json_text(*id));
    if (found == calls_.end()) return;
    const std::string key = found->first;
    const std::string asked = found->second.question;
    calls_.erase(found);  // nothing more is sent for it
    if (!asked.empty()) {
      send_(mcp_notification("notifications/cancelled", {{"requestId", asked}}));
    }
    service_.cancel(client_, key);
  }

  // Output of a run, and lines of a task that a call streams.
  void told(const TaskEvent& event) {
    using Kind = TaskEvent::Kind;
    if (event.kind != Kind::kOutput && event.kind != Kind::kMatch) return;
    const std::string& task = event.task.id();
    if (task.empty()) {
      const auto found = calls_.find(std::string(event.call_id));
      if (found != calls_.end()) found->second.progress.add(event.text);
      return;
    }
    for (auto& [id, call] : calls_) {
      if (call.task_id != task) continue;
      call.progress.add(event.text);
      log(call.context, task, event.text);
    }
  }

  // Only where the client asked for messages of this level.
  void log(const McpContext& context, const std::string& task, std::string_view text) {
    const std::string& level = context.is_modern ? context.log_level : log_level_;
    if (level != "debug" && level != "info") return;
    send_(mcp_notification(
        "notifications/message",
        {{"level", "info"}, {"logger", kShell}, {"data", {{"task_id", task}, {"text", text}}}}));
  }

  Service& service_;
  ToolRunner& runner_;
  McpOptions options_;
  Send send_;
  SignedState states_;
  ClientId client_;
  bool is_open_ = false;  // by `initialize`
  bool client_elicits_ = false;
  std::map<std::string, std::string> http_questions_;  // by the id of our request: digests
  std::string log_level_ = "info";
  std::map<std::string, Call> calls_;  // by id, as JSON text
  std::uint64_t next_serial_ = 0;
  std::uint64_t next_question_ = 0;
};

McpServer::McpServer(Service& service, ToolRunner& runner, McpOptions options, Send send)
    : impl_(std::make_unique<Impl>(service, runner, std::move(options), std::move(send))) {}
McpServer::~McpServer() = default;
void McpServer::receive(std::string_view line) { impl_->receive(line); }
void McpServer::refuse_long_line() { impl_->refuse_long_line(); }
std::optional<McpServer::Clock::time_point> McpServer::deadline() const {
  return impl_->deadline();
}
void McpServer::tick() { impl_->tick(); }
bool McpServer::has_calls() const { return impl_->has_calls(); }

}  // namespace sbx
