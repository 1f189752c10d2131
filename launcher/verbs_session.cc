// SPDX-License-Identifier: Apache-2.0
// start, status, output, stdin, wait, kill, list and reset: one method each, its answer on stdout,
// its exit status by docs/sessions.md.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "flag_table.h"
#include "flags.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "json/writer.h"
#include "output/terminal_text.h"
#include "prepare.h"
#include "profile/fields.h"
#include "report/json.h"
#include "serve_protocol.h"
#include "session_client.h"
#include "session_verbs.h"
#include "task_text.h"
#include "verbs.h"

namespace sbx {

using nlohmann::json;

bool print(const std::string& text) { return say(text.ends_with('\n') ? text : text + "\n") == 0; }

bool wants_json(const Invocation& invocation) {
  const auto& words = invocation.arguments;
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--json") != end || isatty(STDOUT_FILENO) == 0;
}

int refuse(const Error& error, const Invocation& invocation, int status) {
  complain(error);
  if (wants_json(invocation)) print(outcome_to_json(error_outcome(error)));
  return status;
}

std::optional<Error> error_of(const json& answer) {
  const auto error = answer.is_object() ? answer.find("error") : answer.end();
  if (!answer.is_object() || error == answer.end() || !error->is_object()) return std::nullopt;
  return read_error(*error, ErrorCode::kSessionFailed);
}

int status_of(const json& answer) {
  const std::string status = answer.is_object() ? text_at(answer, "status") : "";
  if (status.empty() || status == "running") return 0;
  End end{status, std::nullopt, signal_number(text_at(answer, "signal"))};
  const auto code = answer.find("exit_code");
  if (code != answer.end() && code->is_number_integer()) end.exit_code = code->get<int>();
  if (const auto error = error_of(answer)) end.error = error->code;
  return exit_status(end);
}

json parsed(const std::string& text) {
  Result<json> value = read_json_strict(text, {kMostAnswerBytes, 128});
  return value.ok() ? std::move(value).value() : json();
}

bool tell(const Invocation& invocation, const char* method, const std::string& answer) {
  if (wants_json(invocation)) return print(answer);
  TaskText text = task_text(method, parsed(answer));
  const bool is_told = text.out.empty() || print(text.out);
  write_what_is_taken(STDERR_FILENO, text.err);
  return is_told;
}

int finish(const Invocation& invocation, const char* method, const std::string& answer) {
  const json result = parsed(answer);
  const auto error = error_of(result);
  if (error) complain(*error);
  if (error && !wants_json(invocation)) return status_of(result);
  return tell(invocation, method, answer) ? status_of(result) : 125;
}

namespace {

Result<std::string> read_text(int fd, std::size_t at_most, const std::string& where) {
  Result<std::string> text = read_up_to(fd, at_most + 1);
  if (!text.ok()) text.error().where = where;
  if (!text.ok() || text.value().size() <= at_most) return text;
  return Error{ErrorCode::kTooLarge, "more than " + std::to_string(at_most) + " bytes", where,
               "send it in parts"};
}

Result<std::int64_t> duration(const std::string& text, const std::string& flag) {
  const auto ms = parse_duration_ms(text);
  if (ms) return *ms;
  return Error{ErrorCode::kBadFlag, "bad value for " + flag + ": '" + text + "'", flag,
               "a time such as 10s, 500ms or 2m"};
}

// The part of `start` that is the request; the rest fixed the session.
Result<json> start_params(const RunOptions& options, const Verb& verb) {
  SBX_CHECK_OK(check_command(options, verb));
  json params = {{"follow", false}};
  if (options.program.empty()) {
    params["command"] = options.command;
  } else {
    params["argv"] = options.program;
  }
  if (!options.description.empty()) params["description"] = options.description;
  if (!options.cwd.empty()) params["cwd"] = options.cwd;
  if (options.merge) params["merge"] = true;
  if (options.pty) params["pty"] = true;
  SBX_CHECK_OK(add_size(options, params));
  if (!options.approve.empty()) params["approval"] = options.approve;
  if (!options.timeout.empty() && options.timeout != kNoTimeout) {
    SBX_TRY(params["timeout_ms"], duration(options.timeout, "--timeout"));
  }
  if (options.stdin_source == "none" && !options.pty) {
    params["stdin"] = "";
  } else if (!options.stdin_source.empty() && options.stdin_source != "none") {
    SBX_TRY(params["stdin"], read_source(options.stdin_source, "--stdin"));
  }
  return params;
}

// --- verbs that name a task

using Params = Result<json> (*)(const RunOptions&);

Result<json> task_params(const RunOptions& options) {
  json params = json::object();
  if (!options.task_id.empty()) params["task_id"] = options.task_id;
  return params;
}

Result<json> output_params(const RunOptions& options) {
  SBX_TRY(json params, task_params(options));
  if (!options.since.empty()) {
    const auto since = parse_count(options.since, INT64_MAX);
    if (!since) {
      return Error{ErrorCode::kBadFlag, "bad value for --since: '" + options.since + "'", "--since",
                   "the \"next\" of the answer before"};
    }
    params["since"] = *since;
  }
  if (options.follow) params["follow"] = true;
  if (!options.match.empty()) params["match"] = options.match;
  return params;
}

// What no argument can be.
const std::string kNoText(1, '\0');

Result<json> stdin_params(const RunOptions& options) {
  SBX_TRY(json params, task_params(options));
  const bool has_text = options.text != kNoText;
  if (!options.keys.empty()) {
    params["keys"] = options.keys;
    if (has_text) params["text"] = options.text;
  } else if (has_text) {
    params["text"] = options.text + (options.text.empty() ? "" : "\n");
  } else if (!options.close || isatty(STDIN_FILENO) == 0) {
    SBX_TRY(params["text"], read_source("-", "stdin"));
  }
  if (options.close) params["close"] = true;
  return params;
}

Result<json> wait_params(const RunOptions& options) {
  SBX_TRY(json params, task_params(options));
  if (options.timeout.empty() || options.timeout == kNoTimeout) return params;
  SBX_TRY(params["timeout_ms"], duration(options.timeout, "--timeout"));
  return params;
}

Result<json> kill_params(const RunOptions& options) {
  SBX_TRY(json params, task_params(options));
  if (options.grace.empty()) return params;
  SBX_TRY(params["grace_ms"], duration(options.grace, "--grace"));
  return params;
}

Result<std::int64_t> parse_whole(const std::string& text, const char* flag) {
  const auto number = parse_count(text, INT64_MAX);
  if (number) return *number;
  return Error{ErrorCode::kBadFlag, "bad value for " + std::string(flag) + ": '" + text + "'", flag,
               "a number"};
}

}  // namespace

Result<std::string> read_source(const std::string& source, const std::string& where,
                                std::size_t at_most) {
  OwnedFd opened;
  Result<int> fd = choose_stdin(source, opened, StdinWait{});
  if (!fd.ok()) {
    fd.error().where = where;
    return fd.error();
  }
  if (fd.value() < 0) return std::string();
  return read_text(fd.value(), at_most, where);
}

std::optional<int> parse_verb(const Invocation& invocation, RunOptions& options) {
  Result<ParseOutcome> outcome = parse_flags(invocation, options);
  if (!outcome.ok()) return refuse(outcome.error(), invocation);
  if (!outcome.value().help) return std::nullopt;
  return say(*outcome.value().help);
}

std::optional<int> parse_task(const Invocation& invocation, RunOptions& options) {
  options.session = kDefaultSession;
  return parse_verb(invocation, options);
}

Result<std::string> ask(const std::string& session, const Invocation& invocation,
                        const std::string& method, const Result<json>& params) {
  if (!params.ok()) return params.error();
  SBX_TRY(SessionClient client,
          SessionClient::open({session, false, false, {}}, invocation.environment));
  return client.call(method, params.value().dump(-1, ' ', false, json::error_handler_t::replace));
}

Status add_size(const RunOptions& options, json& params) {
  if (!options.columns.empty()) {
    SBX_TRY(params["cols"], parse_whole(options.columns, "--cols"));
  }
  if (!options.rows.empty()) {
    SBX_TRY(params["rows"], parse_whole(options.rows, "--rows"));
  }
  return {};
}

namespace {

// `options` has what stands for a flag that is not given.
template <typename Ask>
int answered_verb(const Invocation& invocation, RunOptions options, const Ask& ask_for) {
  if (const auto status = parse_task(invocation, options)) return *status;
  const Result<std::string> answer = ask_for(options);
  if (!answer.ok()) return refuse(answer.error(), invocation);
  return tell(invocation, invocation.verb->name, answer.value()) ? 0 : 125;
}

// The method has the verb's name.
int simple_verb(const Invocation& invocation, Params params) {
  return answered_verb(invocation, {}, [&](const RunOptions& options) {
    return ask(options.session, invocation, invocation.verb->name, params(options));
  });
}

// In parts, since no more may wait: each when the one before is in the task's pipe.
Result<std::string> send_stdin(const RunOptions& options, const Invocation& invocation) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 19;
  SBX_TRY(json params, stdin_params(options));
  std::string rest = text_at(params, "text");
  while (rest.size() > kMostAtOnce) {
    std::size_t end = kMostAtOnce;
    while ((rest[end] & 0xc0) == 0x80) --end;  // within a character
    params["text"] = rest.substr(0, end);
    params["close"] = false;
    SBX_TRY(const std::string answer, ask(options.session, invocation, "stdin", params));
    rest.erase(0, end);
    params["text"] = rest;
    params["close"] = options.close;
  }
  return ask(options.session, invocation, "stdin", params);
}

// --- output --follow

struct Follow {
  std::string task_id;
  bool is_json = true;
  bool has_ended = false;
  bool is_written = true;
  TerminalText out{TerminalText::Kind::kText};
  TerminalText err{TerminalText::Kind::kText};

  void show(const json& params, std::string_view end) {
    const bool is_err = text_at(params, "stream") == "stderr";
    const int fd = is_err ? STDERR_FILENO : STDOUT_FILENO;
    const std::string text = text_at(params, "text") + std::string(end);
    write_what_is_taken(STDERR_FILENO, dropped_text(params));
    is_written = is_written && write_all(fd, (is_err ? err : out).append(text));
  }
  // What has been held back; the account below it begins on a line of its own.
  void finish() {
    for (auto [fd, text] : {std::pair(STDOUT_FILENO, &out), {STDERR_FILENO, &err}}) {
      const std::string rest = text->finish();
      is_written = is_written && write_all(fd, rest + (text->is_fresh_line() ? "" : "\n"));
    }
  }

  void event(const char* name, const json& from, const char* const* keys) {
    json line = {{"event", name}, {"task_id", task_id}};
    for (; *keys != nullptr; ++keys) {
      if (from.contains(*keys)) line[*keys] = from.at(*keys);
    }
    is_written = is_written &&
                 print(foreign_json(line.dump(-1, ' ', false, json::error_handler_t::replace)));
  }
  void notification(const std::string& method, const std::string& text) {
    static constexpr const char* kText[] = {"stream", "text", "offset", "dropped", nullptr};
    static constexpr const char* kDenial[] = {"layer",   "operation", "target", "count",
                                              "program", "grant",     nullptr};
    static constexpr const char* kEnd[] = {"status", "exit_code", "signal", "timed_out", nullptr};
    static constexpr const char* kReason[] = {"reason", nullptr};
    const json params = parsed(text);
    if (!params.is_object() || params.value("task_id", std::string()) != task_id) return;
    has_ended = has_ended || method == "task.exit";
    if (!is_json) {
      if (method == "task.output") show(params, "");
      if (method == "task.match") show(params, "\n");
      return;
    }
    if (method == "task.output") event("output", params, kText);
    if (method == "task.match") event("match", params, kText);
    if (method == "task.cancelled") event("cancelled", params, kReason);
    if (method != "task.exit") return;
    for (const json& denial : params.value("denials", json::array())) {
      event("denial", denial, kDenial);
    }
    event("exit", params, kEnd);
  }
};

int follow_output(const RunOptions& options, const Invocation& invocation) {
  Result<json> params = output_params(options);
  if (!params.ok()) return refuse(params.error(), invocation);
  params.value()["follow"] = true;
  params.value()["replay"] = true;
  Result<SessionClient> client =
      SessionClient::open({options.session, false, false, {}}, invocation.environment);
  if (!client.ok()) return refuse(client.error(), invocation);
  Follow follow{options.task_id, wants_json(invocation)};
  std::vector<std::pair<std::string, std::string>> early;
  const Result<std::string> answer = client.value().call(
      "output", params.value().dump(), [&](const std::string& method, const std::string& text) {
        early.emplace_back(method, text);
      });
  if (!answer.ok()) return refuse(answer.error(), invocation);
  const auto notify = [&](const std::string& method, const std::string& text) {
    follow.notification(method, text);
  };
  for (const auto& [method, text] : early) notify(method, text);
  while (!follow.has_ended && follow.is_written) {
    const Status status = client.value().next(notify);
    if (!status.ok()) return refuse(status.error(), invocation);
  }
  if (!follow.is_json) {
    follow.finish();
    // How it ended, and what was refused.
    const Result<std::string> state =
        client.value().call("status", json{{"task_id", options.task_id}}.dump());
    if (state.ok()) write_what_is_taken(STDERR_FILENO, task_account(parsed(state.value())));
  }
  return follow.is_written ? 0 : 125;
}

// --- list, without a session

// Those that answer, with their tasks. One that is stopped keeps nobody from the others.
constexpr int kPatienceMs = 2000;

Result<json> sessions(const Invocation& invocation) {
  SBX_TRY(const Directory directory, runtime_directory(invocation.environment));
  json found = json::array();
  for (const std::string& name : session_names(directory)) {
    SessionClient::Wanted wanted{name};
    wanted.patience_ms = kPatienceMs;
    Result<SessionClient> client = SessionClient::open(wanted, invocation.environment);
    if (!client.ok()) {
      // Else it has gone, or is another version's.
      if (client.error().sys_errno == EAGAIN) warn(name + ": " + client.error().message);
      continue;
    }
    const Result<std::string> tasks = client.value().call("list", "{}");
    if (!tasks.ok()) continue;
    const json said = parsed(client.value().greeting());
    found.push_back({{"session", name},
                     {"pid", said.value("pid", 0)},
                     {"profile", text_at(said, "profile")},
                     {"workspace", text_at(said, "workspace")},
                     {"tasks", parsed(tasks.value()).value("tasks", json::array())}});
  }
  return json{{"sessions", std::move(found)}};
}

}  // namespace

Result<SessionClient::Wanted> wanted_session(const RunOptions& options,
                                             const Invocation& invocation) {
  SBX_TRY(SessionFlags settings, session_flags(options, *invocation.verb));
  SessionClient::Wanted wanted{options.session, true, false, std::move(settings), options.approve};
  wanted.default_workspace = [&options, &invocation]() -> Result<std::string> {
    std::vector<std::string> warnings;
    SBX_TRY(std::string workspace, default_workspace(options, invocation, warnings));
    for (const std::string& warning : warnings) warn(warning);
    return workspace;
  };
  return wanted;
}

Result<SessionClient> open_session(const RunOptions& options, const Invocation& invocation) {
  SBX_TRY(SessionClient::Wanted wanted, wanted_session(options, invocation));
  wanted.above_ceilings = !options.timeout.empty();
  return SessionClient::open(wanted, invocation.environment);
}

Result<json> shell_params(const RunOptions& options) {
  json params = {{"shell", "kept"}, {"command", options.command}};
  if (options.command.empty()) {
    SBX_TRY(const std::string text, read_source("-", "stdin"));
    if (text.empty()) {
      return Error{ErrorCode::kBadFlag, "no command was given", "-c",
                   "sbx-run shell -c COMMAND, or a terminal on standard input"};
    }
    params["command"] = text;
  }
  if (!options.cwd.empty()) params["cwd"] = options.cwd;
  if (!options.approve.empty()) params["approval"] = options.approve;
  if (options.timeout == kNoTimeout) {
    params["timeout_ms"] = kWeekMs;
  } else if (!options.timeout.empty()) {
    SBX_TRY(params["timeout_ms"], duration(options.timeout, "--timeout"));
  }
  return params;
}

int verb_start(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  const auto start = [&]() -> Result<std::string> {
    SBX_TRY(const json params, start_params(options, *invocation.verb));
    SBX_TRY(SessionClient client, open_session(options, invocation));
    return client.call("start", params.dump(-1, ' ', false, json::error_handler_t::replace));
  };
  const Result<std::string> answer = start();
  if (!answer.ok()) return refuse(answer.error(), invocation);
  return finish(invocation, "start", answer.value());
}

int verb_status(const Invocation& invocation) { return simple_verb(invocation, task_params); }
int verb_stdin(const Invocation& invocation) {
  RunOptions none;
  none.text = kNoText;
  return answered_verb(invocation, std::move(none),
                       [&](const RunOptions& options) { return send_stdin(options, invocation); });
}
int verb_kill(const Invocation& invocation) { return simple_verb(invocation, kill_params); }
int verb_reset(const Invocation& invocation) { return simple_verb(invocation, kill_params); }

int verb_list(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_verb(invocation, options)) return *status;
  const Result<std::string> answer = [&]() -> Result<std::string> {
    if (!options.session.empty()) {
      return ask(options.session, invocation, "list", json::object());
    }
    SBX_TRY(const json all, sessions(invocation));
    return foreign_json(all.dump(-1, ' ', false, json::error_handler_t::replace));
  }();
  if (!answer.ok()) return refuse(answer.error(), invocation);
  return tell(invocation, "list", answer.value()) ? 0 : 125;
}

int verb_wait(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  const Result<std::string> answer = ask(options.session, invocation, "wait", wait_params(options));
  if (!answer.ok()) return refuse(answer.error(), invocation);
  if (!tell(invocation, "wait", answer.value())) return 125;
  const json result = parsed(answer.value());
  return result.is_object() && result.value("is_running", false) ? 124 : status_of(result);
}

int verb_output(const Invocation& invocation) {
  RunOptions options;
  if (const auto status = parse_task(invocation, options)) return *status;
  if (options.follow || !options.match.empty()) return follow_output(options, invocation);
  const Result<std::string> answer =
      ask(options.session, invocation, "output", output_params(options));
  if (!answer.ok()) return refuse(answer.error(), invocation);
  return tell(invocation, "output", answer.value()) ? 0 : 125;
}

}  // namespace sbx
