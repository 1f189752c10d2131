// SPDX-License-Identifier: Apache-2.0
// The typed calls with real commands: what each is answered with, and who is told what.
#include "session/service.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/default_session.h"

namespace sbx {
namespace {

using namespace std::chrono_literals;

struct Event {
  TaskEvent::Kind kind;
  std::string task_id;
  std::string text;
};

class ServiceTest : public testing::Test {
 protected:
  struct Answer {
    int count = 0;
    std::optional<Error> error;
    TaskPointer task;
  };

  void open() {
    service_.emplace(std::move(session_.options));
    client_ = service_->add_client(
        {[this](const TaskEvent& event) {
           events_.push_back({event.kind, event.task.id(), std::string(event.text)});
         },
         {}});
  }
  void TearDown() override { service_.reset(); }

  Ask ask(const std::shared_ptr<Answer>& answer, const std::string& id = "") const {
    return {client_, id, [answer](Result<TaskPointer> result) {
              ++answer->count;
              if (result.ok()) {
                answer->task = std::move(result).value();
              } else {
                answer->error = result.error();
              }
            }};
  }
  // Makes a call and waits for its answer.
  template <typename Call>
  Answer call(Call make) {
    const auto answer = std::make_shared<Answer>();
    make(ask(answer));
    drive(*service_, [&] { return answer->count > 0; });
    return *answer;
  }
  static RunCall shell(const std::string& text) {
    RunCall command;
    command.request.command = text;
    return command;
  }
  TaskPointer run(const std::string& text) {
    return call([&](Ask ask) { service_->run(std::move(ask), shell(text)); }).task;
  }
  TaskPointer start(const std::string& text, bool is_followed = true) {
    RunCall command = shell(text);
    command.is_followed = is_followed;
    return call([&](Ask ask) { service_->start(std::move(ask), std::move(command)); }).task;
  }
  std::string told(TaskEvent::Kind kind) const {
    std::string text;
    for (const Event& event : events_) {
      if (event.kind == kind) text += event.text;
    }
    return text;
  }
  long count(TaskEvent::Kind kind) const {
    return std::count_if(events_.begin(), events_.end(),
                         [&](const Event& event) { return event.kind == kind; });
  }

  DefaultSession session_;
  std::optional<Service> service_;
  ClientId client_ = 0;
  std::vector<Event> events_;
};

TEST_F(ServiceTest, ARunIsAnsweredWithItsOutcome) {
  open();
  const TaskPointer ran = run("echo hello; echo no >&2; exit 4");
  ASSERT_NE(ran, nullptr);
  ASSERT_NE(ran->outcome(), nullptr);
  EXPECT_EQ(ran->outcome()->status, RunStatus::kExited);
  EXPECT_EQ(ran->outcome()->exit_code, 4);
  EXPECT_EQ(ran->outcome()->out.text, "hello\n");
  EXPECT_EQ(ran->outcome()->err.text, "no\n");
  EXPECT_TRUE(ran->id().empty());
  EXPECT_TRUE(service_->list().empty());
  EXPECT_TRUE(events_.empty());
}

TEST_F(ServiceTest, AMistakeInARequestIsAnError) {
  open();
  RunCall command = shell("true");
  command.request.timeout_ms = 100'000'000;
  const Answer answer = call([&](Ask ask) { service_->run(std::move(ask), std::move(command)); });
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->code, ErrorCode::kAboveCeiling);
  EXPECT_EQ(answer.error->where, "/timeout_ms");
}

TEST_F(ServiceTest, APolicyOfItsOwnStandsForTheSessions) {
  open();
  Policy policy = *service_->options().policy;
  policy.run.environment.set["OWN"] = "yes";
  RunCall command = shell("echo $OWN");
  command.policy = std::make_shared<const Policy>(policy);
  const Answer answer = call([&](Ask ask) { service_->run(std::move(ask), std::move(command)); });
  EXPECT_EQ(answer.task->outcome()->out.text, "yes\n");
  EXPECT_EQ(run("echo [$OWN]")->outcome()->out.text, "[]\n");
}

TEST_F(ServiceTest, ATaskIsToldReadWrittenToAndWaitedFor) {
  open();
  const TaskPointer task = start("echo one; read x; echo $x; exit 5");
  ASSERT_NE(task, nullptr);
  EXPECT_FALSE(task->id().empty());
  EXPECT_FALSE(task->never_began());
  drive(*service_, [&] { return told(TaskEvent::Kind::kOutput) == "one\n"; });
  const auto waiting = std::make_shared<Answer>();
  service_->wait(ask(waiting), task->id(), std::nullopt);

  const OutputCall all{task->id()};
  const TaskPointer read = call([&](Ask ask) { service_->output(std::move(ask), all); }).task;
  EXPECT_EQ(read, task);
  EXPECT_EQ(read->output().read(output_begins(all, *read)).out, "one\n");
  EXPECT_EQ(waiting->count, 0);
  const Answer written =
      call([&](Ask ask) { service_->write_stdin(std::move(ask), task->id(), "two\n", false); });
  EXPECT_FALSE(written.error);
  drive(*service_, [&] { return waiting->count > 0; });
  EXPECT_EQ(waiting->task->outcome()->exit_code, 5);
  EXPECT_EQ(told(TaskEvent::Kind::kOutput), "one\ntwo\n");
  EXPECT_EQ(count(TaskEvent::Kind::kExit), 1);
  EXPECT_EQ(events_.back().task_id, task->id());
}

TEST_F(ServiceTest, WhatIsNoTaskIsAnErrorOfEachCall) {
  open();
  const std::vector<std::function<void(Ask)>> calls = {
      [&](Ask ask) { service_->status(std::move(ask), "none"); },
      [&](Ask ask) { service_->output(std::move(ask), {"none"}); },
      [&](Ask ask) { service_->write_stdin(std::move(ask), "none", "x", false); },
      [&](Ask ask) { service_->wait(std::move(ask), "none", std::nullopt); },
      [&](Ask ask) { service_->kill(std::move(ask), "none"); },
  };
  for (const auto& make : calls) {
    const Answer answer = call(make);
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code, ErrorCode::kTaskNotFound);
    EXPECT_EQ(answer.count, 1);
  }
}

TEST_F(ServiceTest, WhatATaskHasNotWrittenYetIsNotAskedFor) {
  open();
  const TaskPointer task = start("echo one; sleep 1000");
  drive(*service_, [&] { return told(TaskEvent::Kind::kOutput) == "one\n"; });
  OutputCall beyond{task->id()};
  beyond.since = 5;
  const Answer answer = call([&](Ask ask) { service_->output(std::move(ask), beyond); });
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->code, ErrorCode::kOutOfRange);
  EXPECT_EQ(answer.error->where, "/since");
  beyond.since = 4;
  EXPECT_FALSE(call([&](Ask ask) { service_->output(std::move(ask), beyond); }).error);
}

TEST_F(ServiceTest, ATextThatIsRefusedIsACallNoMore) {
  open();
  const TaskPointer task = start("sleep 1000");
  const auto refused = std::make_shared<Answer>();
  service_->write_stdin(ask(refused, "a"), task->id(), std::string(2 << 20, 'x'), false);
  drive(*service_, [&] { return refused->count > 0; });
  ASSERT_TRUE(refused->error);
  EXPECT_EQ(refused->error->code, ErrorCode::kTooMany);
  EXPECT_FALSE(service_->cancel(client_, "a"));
  call([&](Ask ask) { service_->kill(std::move(ask), task->id()); });
  EXPECT_EQ(refused->count, 1);
}

TEST_F(ServiceTest, AKillIsAnsweredWhenTheTaskHasEnded) {
  open();
  const TaskPointer task = start("trap '' TERM; echo x; while :; do sleep 0.02; done");
  drive(*service_, [&] { return !told(TaskEvent::Kind::kOutput).empty(); });
  const Answer answer = call([&](Ask ask) { service_->kill(std::move(ask), task->id(), 100ms); });
  ASSERT_EQ(answer.task, task);
  EXPECT_EQ(task->outcome()->status, RunStatus::kKilled);
  EXPECT_TRUE(service_->is_idle());
}

TEST_F(ServiceTest, ACommandThatNeverBeganIsNoTask) {
  open();
  RunCall command;
  command.request.argv = {"no-such-program"};
  command.is_followed = true;
  const Answer answer = call([&](Ask ask) { service_->start(std::move(ask), std::move(command)); });
  ASSERT_NE(answer.task, nullptr);
  EXPECT_TRUE(answer.task->never_began());
  EXPECT_EQ(answer.task->outcome()->error->code, ErrorCode::kNotFound);
  EXPECT_TRUE(service_->list().empty());
  EXPECT_TRUE(events_.empty());
}

TEST_F(ServiceTest, ACallIsCancelledByItsNameAndItsClient) {
  open();
  const ClientId other = service_->add_client({});
  const auto running = std::make_shared<Answer>();
  service_->run(ask(running, "a"), shell("sleep 1000"));
  const TaskPointer task = start("sleep 1000", false);
  const auto waiting = std::make_shared<Answer>();
  service_->wait(ask(waiting, "b"), task->id(), std::nullopt);
  EXPECT_FALSE(service_->cancel(other, "a"));
  EXPECT_FALSE(service_->cancel(client_, ""));
  EXPECT_TRUE(service_->cancel(client_, "b"));
  ASSERT_TRUE(waiting->error);
  EXPECT_EQ(waiting->error->code, ErrorCode::kCancelled);
  EXPECT_TRUE(task->is_running());
  EXPECT_TRUE(service_->cancel(client_, "a"));
  drive(*service_, [&] { return running->count > 0; });
  EXPECT_EQ(running->task->outcome()->status, RunStatus::kCancelled);
  EXPECT_FALSE(service_->cancel(client_, "a"));
}

TEST_F(ServiceTest, ARequestThatAsksRunsOnceItIsApproved) {
  open();
  const std::string removal = "rm -rf /usr/share/doc";
  const TaskPointer refused = run(removal);
  ASSERT_EQ(refused->outcome()->status, RunStatus::kNeedsApproval);
  ASSERT_TRUE(refused->outcome()->approval);
  const std::string digest = refused->outcome()->approval->digest;
  EXPECT_EQ(service_->approve("x").error().where, "/digest");
  ASSERT_TRUE(service_->approve(digest).ok());
  RunCall command = shell(removal);
  command.request.approval = digest;
  const Answer answer = call([&](Ask ask) { service_->run(std::move(ask), std::move(command)); });
  EXPECT_EQ(answer.task->outcome()->status, RunStatus::kExited);
  EXPECT_EQ(run(removal)->outcome()->status, RunStatus::kNeedsApproval);
}

TEST_F(ServiceTest, ChecksAndExplainsWithoutRunning) {
  open();
  Request request = shell("touch made").request;
  const Result<guard::Judgement> allowed = service_->check(request);
  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(allowed.value().verdict, Verdict::kAllow);
  std::string explained;
  service_->explain(client_, request, [&](const Result<ExplainedRequest>& answer) {
    ASSERT_TRUE(answer.ok());
    explained = answer.value().run.plan.argv.back();
  });
  EXPECT_EQ(explained, "touch made");
  EXPECT_FALSE(std::filesystem::exists(session_.workspace + "/made"));
  request.command = "sudo id";
  EXPECT_EQ(service_->check(request).value().verdict, Verdict::kDeny);
  request.cwd = "../..";
  EXPECT_EQ(service_->check(request).error().code, ErrorCode::kPathRefused);
}

TEST_F(ServiceTest, AResetEndsTasksForgetsThemAndClearsTheSessionsOwnWorkspace) {
  session_.options.own_workspace = true;
  open();
  std::ofstream(session_.workspace + "/file") << "x";
  const TaskPointer task = start("trap '' TERM; while :; do sleep 0.02; done");
  const Answer answer = call([&](Ask ask) { service_->reset(std::move(ask), 100ms); });
  EXPECT_FALSE(answer.error);
  EXPECT_EQ(answer.task, nullptr);
  EXPECT_EQ(task->outcome()->status, RunStatus::kCancelled);
  EXPECT_EQ(count(TaskEvent::Kind::kCancelled), 1);
  EXPECT_TRUE(service_->list().empty());
  EXPECT_FALSE(std::filesystem::exists(session_.workspace + "/file"));
  EXPECT_EQ(run("echo on")->outcome()->out.text, "on\n");
}

TEST_F(ServiceTest, AShutdownEndsEverything) {
  open();
  const TaskPointer task = start("sleep 1000");
  EXPECT_FALSE(service_->wants_shutdown());
  service_->shutdown();
  EXPECT_TRUE(service_->wants_shutdown());
  drive(*service_, [&] { return service_->is_idle(); });
  EXPECT_EQ(task->outcome()->status, RunStatus::kCancelled);
}

TEST_F(ServiceTest, AClientThatLeavesTakesItsRunsAndIsAnsweredNoMore) {
  open();
  const auto running = std::make_shared<Answer>();
  service_->run(ask(running), shell("sleep 1000"));
  const TaskPointer task = start("sleep 1000");
  const auto waiting = std::make_shared<Answer>();
  service_->wait(ask(waiting), task->id(), std::nullopt);
  service_->remove_client(client_);
  client_ = service_->add_client({});
  EXPECT_TRUE(task->is_running());
  events_.clear();
  call([&](Ask ask) { service_->kill(std::move(ask), task->id()); });
  drive(*service_, [&] { return service_->is_idle(); });
  EXPECT_EQ(running->count, 0);
  EXPECT_EQ(waiting->count, 0);
  EXPECT_TRUE(events_.empty());
}

}  // namespace
}  // namespace sbx
