// SPDX-License-Identifier: Apache-2.0
// The methods with real commands: what they answer, who is told what, and clients that are slow,
// leave or cancel.
#include "rpc/dispatcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "rpc/task_json.h"
#include "support/default_session.h"

namespace sbx {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

struct Event {
  std::string method;
  json params;
};

class DispatcherTest : public testing::Test {
 protected:
  void SetUp() override {
    SessionOptions& options = session_.options;
    options.name = "named";
    session_.change([&](Policy& policy) { policy.run.audit.file = session_.workspace + ".audit"; });
    service_.emplace(std::move(options));
    dispatcher_.emplace(*service_);
    client_ = service_->add_client(noting(events_));
  }
  void TearDown() override {
    dispatcher_.reset();
    service_.reset();
    std::filesystem::remove(session_.workspace + ".audit");
  }

  static ClientOptions noting(std::vector<Event>& events) {
    ClientOptions options;
    options.notify = [&events](const TaskEvent& event) {
      const json line = json::parse(event_line(event));
      events.push_back({line.at("method"), line.at("params")});
    };
    return options;
  }

  void drive(const std::function<bool()>& is_enough) { sbx::drive(*service_, is_enough); }

  static std::string written(const Result<WriteValue>& result) {
    std::string text;
    JsonWriter writer(text);
    if (result.ok()) result.value()(writer);
    return text;
  }

  struct Pending {
    int answers = 0;
    std::optional<Error> error;
    json result;
  };
  std::shared_ptr<Pending> send(ClientId client, const std::string& id, const std::string& method,
                                const json& params) {
    auto pending = std::make_shared<Pending>();
    dispatcher_->call(client, false, id, method, params.dump(),
                      [pending](const Result<WriteValue>& result) {
                        ++pending->answers;
                        if (result.ok()) {
                          pending->result = json::parse(written(result));
                        } else {
                          pending->error = result.error();
                        }
                      });
    return pending;
  }
  json call(const std::string& method, const json& params) {
    const auto pending = send(client_, "", method, params);
    drive([&] { return pending->answers > 0; });
    EXPECT_FALSE(pending->error) << pending->error->message;
    return pending->result;
  }
  Error call_error(const std::string& method, const json& params) {
    const auto pending = send(client_, "", method, params);
    drive([&] { return pending->answers > 0; });
    EXPECT_TRUE(pending->error) << pending->result.dump();
    return pending->error.value_or(Error{});
  }
  std::string start(const std::string& command) {
    return call("start", {{"command", command}}).value("task_id", "");
  }
  static std::size_t count(const std::vector<Event>& events, std::string_view method) {
    return static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [&](const Event& event) { return event.method == method; }));
  }
  static std::string text_of(const std::vector<Event>& events, std::string_view stream) {
    std::string text;
    for (const Event& event : events) {
      if (event.method == "task.output" && event.params.at("stream") == stream) {
        text += event.params.at("text").get<std::string>();
      }
    }
    return text;
  }

  DefaultSession session_;
  std::optional<Service> service_;
  std::optional<Dispatcher> dispatcher_;
  ClientId client_ = 0;
  std::vector<Event> events_;
};

TEST_F(DispatcherTest, ARunIsAnsweredWithItsResult) {
  const json result = call("run", {{"command", "echo hello; exit 4"}});
  EXPECT_EQ(result.at("status"), "exited");
  EXPECT_EQ(result.at("exit_code"), 4);
  EXPECT_EQ(result.at("stdout"), "hello\n");
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(call("run", {{"argv", {"wc", "-c"}}, {"stdin", "abc"}}).at("stdout"), "3\n");
}

TEST_F(DispatcherTest, RunsGoOnAtTheSameTime) {
  std::vector<std::shared_ptr<Pending>> runs;
  runs.reserve(8);
  // Each waits for the next one's file: one after the other they would wait for ever.
  for (int i = 0; i < 8; ++i) {
    runs.push_back(send(client_, std::to_string(i), "run",
                        {{"command", "touch f" + std::to_string(i) + "; until [ -e f" +
                                         std::to_string((i + 1) % 8) +
                                         " ]; do sleep 0.01; done; echo " + std::to_string(i)}}));
  }
  drive([&] { return service_->is_idle() && runs.back()->answers > 0; });
  for (int i = 0; i < 8; ++i) {
    const Pending& run = *runs[static_cast<std::size_t>(i)];
    EXPECT_EQ(run.answers, 1);
    EXPECT_EQ(run.result.at("stdout"), std::to_string(i) + "\n");
  }
}

TEST_F(DispatcherTest, ATaskCanBeLookedAtUntilItHasEndedAndAfterwards) {
  const json started =
      call("start", {{"command", "echo one; read x; echo $x; exit 5"}, {"description", "what"}});
  const std::string id = started.at("task_id");
  EXPECT_GT(started.at("pid").get<int>(), 0);
  EXPECT_TRUE(started.at("started_at").is_string());
  EXPECT_EQ(started.size(), 3U);
  drive([&] { return !text_of(events_, "stdout").empty(); });
  json status = call("status", {{"task_id", id}});
  EXPECT_EQ(status.at("status"), "running");
  EXPECT_EQ(status.at("exit_code"), nullptr);
  EXPECT_EQ(status.at("is_running"), true);
  EXPECT_EQ(status.at("stdout"), "one\n");
  EXPECT_TRUE(status.at("uptime_seconds").is_number());
  EXPECT_EQ(status.at("description"), "what");
  EXPECT_EQ(call("status", json::object()).at("tasks").size(), 1U);

  const json first = call("output", {{"task_id", id}, {"since", 0}});
  EXPECT_EQ(first.at("stdout"), "one\n");
  const json nothing = call("output", {{"task_id", id}, {"since", first.at("next")}});
  EXPECT_EQ(nothing.at("stdout"), "");
  EXPECT_EQ(nothing.at("is_running"), true);

  EXPECT_EQ(call("stdin", {{"task_id", id}, {"text", "two\n"}}).at("written"), 4);
  const json waited = call("wait", {{"task_id", id}});
  EXPECT_EQ(waited.at("status"), "exited");
  EXPECT_EQ(waited.at("exit_code"), 5);
  EXPECT_EQ(waited.at("is_running"), false);
  EXPECT_EQ(waited.at("stdout"), "one\ntwo\n");
  EXPECT_TRUE(waited.contains("usage"));
  const json second = call("output", {{"task_id", id}, {"since", first.at("next")}});
  EXPECT_EQ(second.at("stdout"), "two\n");
  EXPECT_EQ(second.at("exit_code"), 5);
  EXPECT_EQ(second.at("dropped"), 0);
  EXPECT_EQ(call("list", json::object()).at("tasks").at(0).at("status"), "exited");
  EXPECT_EQ(call_error("stdin", {{"task_id", id}, {"text", "x"}}).where, "/task_id");
}

TEST_F(DispatcherTest, EachMistakeIsAnErrorWithItsPlace) {
  EXPECT_EQ(call_error("runn", json::object()).code, ErrorCode::kUnknownMethod);
  EXPECT_NE(call_error("runn", json::object()).hint.find("\"run\""), std::string::npos);
  EXPECT_EQ(call_error("run", json::object()).code, ErrorCode::kMissingField);
  EXPECT_EQ(call_error("run", {{"command", "ls"}, {"timeout_ms", 0}}).where, "/timeout_ms");
  EXPECT_EQ(call_error("run", {{"command", "ls"}, {"match", "x"}}).code, ErrorCode::kUnknownField);
  EXPECT_EQ(call_error("run", {{"command", "ls"}, {"timeout_ms", 100'000'000}}).code,
            ErrorCode::kAboveCeiling);
  EXPECT_EQ(call_error("status", {{"task_id", "none"}}).code, ErrorCode::kTaskNotFound);
  EXPECT_EQ(call_error("start", {{"command", "ls"}, {"match", "("}}).where, "/match");
  EXPECT_EQ(call_error("approve", {{"digest", "x"}}).code, ErrorCode::kNotGranted);
  EXPECT_EQ(call_error("tool", {{"name", "bash"}}).code, ErrorCode::kUnknownMethod);
  const std::string id = start("true");
  EXPECT_EQ(call_error("output", {{"task_id", id}, {"since", 1000}}).where, "/since");
  const auto broken = std::make_shared<Pending>();
  dispatcher_->call(client_, false, "", "run", "{", [broken](const Result<WriteValue>& result) {
    ++broken->answers;
    if (!result.ok()) broken->error = result.error();
  });
  ASSERT_TRUE(broken->error);
  EXPECT_EQ(broken->error->code, ErrorCode::kBadJson);
}

TEST_F(DispatcherTest, AKillIsAnsweredWhenNothingIsLeft) {
  const std::string id = start("trap '' TERM; echo x; while :; do sleep 0.02; done");
  drive([&] { return !text_of(events_, "stdout").empty(); });
  const json killed = call("kill", {{"task_id", id}, {"grace_ms", 100}});
  EXPECT_EQ(killed.at("status"), "killed");
  EXPECT_EQ(killed.at("is_running"), false);
  EXPECT_EQ(call("kill", {{"task_id", id}}).at("status"), "killed");
}

TEST_F(DispatcherTest, AWaitCanEndBeforeTheTask) {
  const std::string id = start("sleep 1000");
  const json late = call("wait", {{"task_id", id}, {"timeout_ms", 50}});
  EXPECT_EQ(late.at("is_running"), true);
  EXPECT_EQ(late.at("status"), "running");
  const auto first = send(client_, "1", "wait", {{"task_id", id}});
  const auto second = send(client_, "2", "wait", {{"task_id", id}});
  EXPECT_EQ(call("cancel", {{"id", 1}}).at("cancelled"), true);
  ASSERT_TRUE(first->error);
  EXPECT_EQ(first->error->code, ErrorCode::kCancelled);
  EXPECT_EQ(second->answers, 0);
  call("kill", {{"task_id", id}});
  EXPECT_EQ(second->answers, 1);
  EXPECT_EQ(call("cancel", {{"id", 1}}).at("cancelled"), false);
}

TEST_F(DispatcherTest, ARunCanBeCancelledByItsOwnClientOnly) {
  const auto run = send(client_, "\"a\"", "run", {{"command", "sleep 1000"}});
  const ClientId other = service_->add_client({});
  service_->cancel(other, "\"a\"");
  service_->cancel(client_, "7");
  service_->step();
  EXPECT_FALSE(service_->is_idle());
  service_->cancel(client_, normal_id("\"\\u0061\""));
  drive([&] { return run->answers > 0; });
  EXPECT_EQ(run->result.at("status"), "cancelled");
}

TEST_F(DispatcherTest, AClientThatLeavesTakesItsRunsButNotItsTasks) {
  std::vector<Event> events;
  const ClientId leaver = service_->add_client(noting(events));
  const auto run = send(leaver, "1", "run", {{"command", "sleep 1000"}});
  const auto task = send(leaver, "2", "start", {{"command", "echo x; sleep 1000"}});
  drive([&] { return task->answers > 0; });
  const std::string id = task->result.at("task_id");
  const auto wait = send(leaver, "3", "wait", {{"task_id", id}});
  service_->remove_client(leaver);
  events.clear();
  EXPECT_EQ(call("status", {{"task_id", id}}).at("is_running"), true);
  call("kill", {{"task_id", id}});
  drive([&] { return service_->is_idle(); });  // so the run has ended as well
  EXPECT_EQ(run->answers, 0);
  EXPECT_EQ(wait->answers, 0);
  EXPECT_TRUE(events.empty());
}

TEST_F(DispatcherTest, TellsTheStarterWhatItsTaskWritesAndHowItEnds) {
  const std::string id = start("echo a; echo b >&2; sleep 0.1; echo c; exit 2");
  drive([&] { return count(events_, "task.exit") > 0; });
  EXPECT_EQ(text_of(events_, "stdout"), "a\nc\n");
  EXPECT_EQ(text_of(events_, "stderr"), "b\n");
  EXPECT_EQ(events_.back().method, "task.exit");
  EXPECT_EQ(events_.back().params.at("task_id"), id);
  EXPECT_EQ(events_.back().params.at("exit_code"), 2);
  std::uint64_t offset = 0;
  for (const Event& event : events_) {
    if (event.method != "task.output") continue;
    EXPECT_EQ(event.params.at("offset"), offset);
    offset = event.params.at("next");
  }
  EXPECT_EQ(count(events_, "task.exit"), 1U);
}

// What does not begin is a result, and no task.
TEST_F(DispatcherTest, AStartThatCannotBeginIsAnsweredWithItsResult) {
  for (const auto& [argv, code] : std::vector<std::pair<json, std::string>>{
           {{"no-such-program"}, "not_found"}, {{"/etc/passwd"}, "not_executable"}}) {
    const json answer = call("start", {{"argv", argv}});
    EXPECT_FALSE(answer.contains("task_id"));
    EXPECT_EQ(answer.at("status"), "error");
    EXPECT_EQ(answer.at("error").at("code"), code);
  }
  EXPECT_TRUE(call("list", json::object()).at("tasks").empty());
  EXPECT_TRUE(events_.empty());
}

TEST_F(DispatcherTest, ATaskThatEndsAtOnceIsATask) {
  for (int i = 0; i < 20; ++i) {
    const json answer = call("start", {{"argv", {"false"}}});
    ASSERT_TRUE(answer.contains("task_id")) << answer;
    EXPECT_EQ(call("wait", {{"task_id", answer.at("task_id")}}).at("exit_code"), 1);
  }
}

TEST_F(DispatcherTest, AStartIsCancelledByItsId) {
  const auto started = send(client_, "7", "start", {{"command", "sleep 1000"}});
  EXPECT_EQ(started->answers, 0);
  service_->cancel(client_, "7");
  drive([&] { return started->answers > 0; });
  EXPECT_EQ(started->result.at("status"), "cancelled");
  EXPECT_TRUE(call("list", json::object()).at("tasks").empty());
}

TEST_F(DispatcherTest, ATaskGoesOnWhoseStarterLeavesBeforeItBegins) {
  const ClientId other = service_->add_client(noting(events_));
  const auto started = send(other, "1", "start", {{"command", "echo done; exit 3"}});
  service_->remove_client(other);
  const json tasks = call("list", json::object()).at("tasks");
  ASSERT_EQ(tasks.size(), 1U);
  const json ended = call("wait", {{"task_id", tasks[0].at("task_id")}});
  EXPECT_EQ(ended.at("stdout"), "done\n");
  EXPECT_EQ(ended.at("exit_code"), 3);
  EXPECT_EQ(started->answers, 0);
}

TEST_F(DispatcherTest, TellsAFollowerWhatComesAfterItsAnswer) {
  std::vector<Event> events;
  const ClientId follower = service_->add_client(noting(events));
  const json started = call("start", {{"command", "echo a; read x; echo $x"}, {"follow", false}});
  const std::string id = started.at("task_id");
  drive([&] { return call("status", {{"task_id", id}}).at("stdout") == "a\n"; });
  const auto answer = send(follower, "1", "output", {{"task_id", id}, {"follow", true}});
  ASSERT_EQ(answer->answers, 1);
  EXPECT_EQ(answer->result.at("stdout"), "a\n");
  call("stdin", {{"task_id", id}, {"text", "b\n"}});
  drive([&] { return count(events, "task.exit") > 0; });
  EXPECT_EQ(text_of(events, "stdout"), "b\n");
  EXPECT_TRUE(events_.empty());
}

// Whole lines, after redaction, whatever the pieces that they came in.
TEST_F(DispatcherTest, TellsWholeLinesThatMatch) {
  const json params = {
      {"command",
       "printf 'xERR'; sleep 0.1; printf 'OR one\\nnothing\\n'; printf 'WARN' >&2; sleep 0.1; "
       "echo 'ERROR key=AKIAQYLPMN5HHHFPZAM2'; printf 'last ERROR'"},
      {"match", "ERROR|WARN"}};
  call("start", params);
  drive([&] { return count(events_, "task.exit") > 0; });
  std::vector<std::string> lines;
  for (const Event& event : events_) {
    if (event.method == "task.match") lines.push_back(event.params.at("text"));
  }
  std::sort(lines.begin(), lines.end());
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[0].starts_with("ERROR key="));
  EXPECT_EQ(lines[0].find("AKIAQYLPMN5HHHFPZAM2"), std::string::npos);
  EXPECT_EQ(lines[1], "WARN");
  EXPECT_EQ(lines[2], "last ERROR");
  EXPECT_EQ(lines[3], "xERROR one");
  EXPECT_EQ(count(events_, "task.output"), 0U);
}

TEST_F(DispatcherTest, AMatcherOfAnotherSeesTheLinesThatAreThereAlready) {
  const std::string id = start("echo 'one hit'; echo miss; read x; echo 'two hits'");
  drive([&] { return text_of(events_, "stdout").size() > 10; });
  std::vector<Event> events;
  const ClientId watcher = service_->add_client(noting(events));
  send(watcher, "1", "output", {{"task_id", id}, {"match", "hit"}});
  call("stdin", {{"task_id", id}, {"text", "\n"}, {"close", true}});
  drive([&] { return count(events, "task.exit") > 0; });
  EXPECT_EQ(count(events, "task.match"), 2U);
}

TEST_F(DispatcherTest, ASlowClientHoldsUpNobodyAndIsToldWhatItMissed) {
  std::vector<Event> slow;
  std::size_t queued = 1 << 20;
  ClientOptions options = noting(slow);
  options.queued_bytes = [&queued] { return queued; };
  const ClientId client = service_->add_client(std::move(options));
  const auto started =
      send(client, "1", "start",
           {{"command", "head -c 5000000 /dev/zero | tr '\\0' x; echo; read x; echo end"}});
  drive([&] { return started->answers > 0; });
  const std::string id = started->result.at("task_id");
  drive([&] { return call("status", {{"task_id", id}}).at("next") == 5'000'001; });
  EXPECT_TRUE(slow.empty());
  queued = 0;
  drive([&] { return text_of(slow, "stdout").size() >= 1'000'000; });
  EXPECT_EQ(slow.front().params.at("dropped").get<std::uint64_t>() + text_of(slow, "stdout").size(),
            5'000'001U);
  call("stdin", {{"task_id", id}, {"text", "\n"}});
  drive([&] { return count(slow, "task.exit") > 0; });
  EXPECT_TRUE(text_of(slow, "stdout").ends_with("x\nend\n"));
}

TEST_F(DispatcherTest, ThousandsWhoWaitForOneTaskDoNotHoldItsOutputThousandfold) {
  const json begun = call(
      "start",
      {{"command", "head -c 899999 /dev/zero | tr '\\0' x; echo; read x"}, {"output_kb", 1024}});
  const std::string id = begun.at("task_id");
  drive([&] { return call("status", {{"task_id", id}}).at("next") == 900'000; });
  std::size_t queued = 0;  // as a connection counts what its client has not read
  std::size_t most = 0;
  int answers = 0;
  ClientOptions options;
  options.queued_bytes = [&queued] { return queued; };
  const ClientId client = service_->add_client(std::move(options));
  for (int i = 0; i < 2000; ++i) {
    dispatcher_->call(client, false, std::to_string(i), "wait", json{{"task_id", id}}.dump(),
                      [&](const Result<WriteValue>& result) {
                        ++answers;
                        queued += written(result).size();
                        most = std::max(most, queued);
                      });
  }
  call("stdin", {{"task_id", id}, {"close", true}});
  call("wait", {{"task_id", id}});  // of another client, which is held up by nobody
  EXPECT_EQ(answers, 1);
  for (int i = 0; i < 20; ++i) {
    queued = 0;
    service_->step();  // as the server's loop does when a client has taken something
    EXPECT_GT(answers, i + 1);
  }
  EXPECT_LT(most, 2'000'000U);
  service_->remove_client(client);
}

TEST_F(DispatcherTest, InputWaitsForATaskThatDoesNotRead) {
  const std::string id = start("sleep 0.3; wc -c");
  const std::string text(800'000, 'x');
  const auto first = send(client_, "1", "stdin", {{"task_id", id}, {"text", text}});
  const auto second =
      send(client_, "2", "stdin", {{"task_id", id}, {"text", text}, {"close", true}});
  EXPECT_EQ(first->answers, 0);
  ASSERT_TRUE(second->error);
  EXPECT_EQ(second->error->code, ErrorCode::kTooMany);
  drive([&] { return first->answers > 0; });
  EXPECT_EQ(first->result.at("written"), 800'000);
  EXPECT_EQ(call("stdin", {{"task_id", id}, {"close", true}}).at("closed"), true);
  EXPECT_EQ(call("wait", {{"task_id", id}}).at("stdout"), "800000\n");
}

TEST_F(DispatcherTest, WhatATaskNeverReadsIsAnsweredAtItsEnd) {
  const std::string id = start("sleep 0.2");
  const auto written =
      send(client_, "1", "stdin", {{"task_id", id}, {"text", std::string(800'000, 'x')}});
  drive([&] { return written->answers > 0; });
  ASSERT_TRUE(written->error);
}

TEST_F(DispatcherTest, AStartWithInputEndsItWithTheText) {
  const json started = call("start", {{"command", "cat"}, {"stdin", "all\n"}});
  EXPECT_EQ(call("wait", {{"task_id", started.at("task_id")}}).at("stdout"), "all\n");
}

TEST_F(DispatcherTest, AResetTellsEachWatcherAndForgetsTheTasks) {
  std::vector<Event> slow;
  ClientOptions options = noting(slow);
  options.queued_bytes = [] { return std::size_t{1} << 30; };
  const ClientId watcher = service_->add_client(std::move(options));
  const std::string one = start("trap '' TERM; while :; do sleep 0.02; done");
  const std::string two = start("sleep 1000");
  send(watcher, "1", "output", {{"task_id", one}, {"follow", true}});
  const auto wait = send(client_, "9", "wait", {{"task_id", two}});
  EXPECT_EQ(call("reset", {{"grace_ms", 100}}).at("workspace_cleared"), false);
  EXPECT_EQ(wait->result.at("status"), "cancelled");
  EXPECT_EQ(count(events_, "task.cancelled"), 2U);
  EXPECT_EQ(count(events_, "task.exit"), 2U);
  for (const Event& event : events_) {
    if (event.method == "task.cancelled") {
      EXPECT_EQ(event.params.at("reason"), "reset");
    } else if (event.method == "task.exit") {
      EXPECT_EQ(event.params.at("status"), "cancelled");
    }
  }
  EXPECT_EQ(count(slow, "task.cancelled"), 1U);
  EXPECT_EQ(count(slow, "task.exit"), 1U);
  EXPECT_TRUE(call("list", json::object()).at("tasks").empty());
  EXPECT_EQ(call_error("status", {{"task_id", one}}).code, ErrorCode::kTaskNotFound);
  EXPECT_EQ(call("run", {{"command", "echo on"}}).at("stdout"), "on\n");
}

TEST_F(DispatcherTest, AShutdownEndsAllTasks) {
  start("sleep 1000");
  EXPECT_FALSE(service_->wants_shutdown());
  call("shutdown", json::object());
  EXPECT_TRUE(service_->wants_shutdown());
  drive([&] { return service_->is_idle(); });
  drive([&] { return count(events_, "task.exit") > 0; });
  EXPECT_EQ(count(events_, "task.cancelled"), 1U);
}

TEST_F(DispatcherTest, AStreamedRunIsToldBeforeItsAnswer) {
  const auto run =
      send(client_, "7", "run", {{"command", "echo a; sleep 0.1; echo b"}, {"stream", true}});
  std::size_t told_at_answer = 0;
  drive([&] {
    if (run->answers == 0) told_at_answer = text_of(events_, "stdout").size();
    return run->answers > 0;
  });
  EXPECT_EQ(text_of(events_, "stdout"), "a\nb\n");
  EXPECT_GE(told_at_answer, 2U);
  EXPECT_EQ(run->result.at("stdout"), "a\nb\n");
  EXPECT_EQ(events_.front().params.at("id"), 7);
  EXPECT_EQ(events_.front().params.at("task_id"), nullptr);
}

TEST_F(DispatcherTest, AReplyMayCallAgain) {
  std::string second;
  dispatcher_->call(client_, false, "", "run", R"({"command": "echo 1"})",
                    [&](const Result<WriteValue>&) {
                      dispatcher_->call(client_, false, "", "run", R"({"command": "echo 2"})",
                                        [&](const Result<WriteValue>& result) {
                                          second = json::parse(written(result)).at("stdout");
                                        });
                    });
  drive([&] { return !second.empty(); });
  EXPECT_EQ(second, "2\n");
}

TEST_F(DispatcherTest, AToolIsRunUnderItsOwnPolicy) {
  int found = 0;
  ToolRunner tools(*service_, [&](std::string_view) -> Result<SharedPolicy> {
    ++found;
    Policy policy = *service_->options().policy;
    policy.sandbox.commands.shell = "sh";
    policy.run.environment.set["OF_THE_TOOL"] = "yes";
    return std::make_shared<const Policy>(std::move(policy));
  });
  dispatcher_.emplace(*service_, &tools);
  const json answer = call("tool", {{"name", "execute_command"},
                                    {"params", {{"command", "echo $OF_THE_TOOL; exit 3"}}}});
  EXPECT_EQ(answer.at("text"), "Exit code: 3\nstdout:\nyes\nstderr:\n");
  EXPECT_EQ(answer.at("exit_code"), 3);
  EXPECT_EQ(answer.at("tool"),
            json::parse(R"({"name": "execute_command", "is_error": false, "exit_status": 0})"));
  call("tool", {{"name", "execute_command"}, {"params", {{"command", "true"}}}});
  EXPECT_EQ(found, 1);
  EXPECT_EQ(call("run", {{"command", "echo [$OF_THE_TOOL]"}}).at("stdout"), "[]\n");
  EXPECT_EQ(call_error("tool", {{"name", "shell"}, {"params", {{"command", 1}}}}).where,
            "/params/command");
  EXPECT_EQ(call_error("tool", {{"name", "shell"}, {"params", {{"task_id", "no"}}}}).where,
            "/params/task_id");
  EXPECT_EQ(call_error("tool", {{"name", "shel"}}).code, ErrorCode::kUnknownMethod);
}

TEST_F(DispatcherTest, EveryCommandIsInTheAuditLog) {
  call("run", {{"command", "exit 3"}});
  call("run", {{"command", "true"}, {"network", true}});
  call("wait", {{"task_id", start("exit 4")}});
  std::ifstream file(session_.workspace + ".audit");
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 3U) << json(lines).dump();
  EXPECT_EQ(lines[0].at("exit_code"), 3);
  EXPECT_EQ(lines[0].at("session"), "named");
  EXPECT_EQ(lines[1].at("status"), "denied");
  EXPECT_EQ(lines[2].at("command"), "exit 4");
}

TEST_F(DispatcherTest, ExplainsWithoutRunning) {
  const json plan = call("explain", {{"command", "touch made"}});
  EXPECT_TRUE(plan.is_object());
  EXPECT_FALSE(std::filesystem::exists(session_.workspace + "/made"));
}

}  // namespace
}  // namespace sbx
