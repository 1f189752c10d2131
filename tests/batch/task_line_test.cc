// SPDX-License-Identifier: Apache-2.0
#include "batch/task_line.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sbx::batch {
namespace {

TEST(TaskLine, GivesTheIdWithoutEscapesAndTheRestAsItStands) {
  const Result<TaskLine> task =
      read_task_line(R"({"command": "echo \u0041", "id": "a\u0062", "files": [1, {"x": 1e9}]})");
  ASSERT_TRUE(task.ok()) << task.error().message;
  EXPECT_EQ(task.value().id, "ab");
  EXPECT_EQ(task.value().params, R"({"command":"echo \u0041","files":[1, {"x": 1e9}]})");
}

TEST(TaskLine, RefusesWhatHasNoIdOfItsOwn) {
  const auto code = [](std::string_view line) {
    const Result<TaskLine> task = read_task_line(line);
    return task.ok() ? std::string("ok") : std::string(error_name(task.error().code));
  };
  EXPECT_EQ(code("{}"), "missing_field");
  EXPECT_EQ(code(R"({"id": ""})"), "bad_value");
  EXPECT_EQ(code(R"({"id": null})"), "wrong_type");
  EXPECT_EQ(code(R"({"id": 7})"), "wrong_type");
  EXPECT_EQ(code(R"({"id": "a", "id": "b"})"), "duplicate_key");
  EXPECT_EQ(code(R"(["a"])"), "wrong_type");
  EXPECT_EQ(code(R"({"id": "a")"), "bad_json");
  EXPECT_EQ(code(R"({"id": "\ud800"})"), "bad_json");
  EXPECT_EQ(code("{\"id\": \"\xff\"}"), "bad_json");
}

TEST(TaskLine, OfWhatIsRefusedTheIdIsToldWhereThereIsOne) {
  EXPECT_EQ(id_of_refused(R"({"a": {"id": "y"}, "\u0069d": "x\n", "b": [1], "b": 2})"), "x\n");
  for (const char* line :
       {R"({"id": "a", "id": "b"})", R"({"id": "a", "id": "a", "b": 1, "b": 2})",
        R"({"id": 7, "b": 1, "b": 2})", R"({"id": "a", "b": 1, "b": 2)", R"({"b": 1, "b": "id"})",
        R"(["id"])", R"({"id": "\ud800", "b": 1, "b": 2})", "", "{}"}) {
    EXPECT_EQ(id_of_refused(line), "") << line;
  }
}

TEST(TaskLine, OfTheBeginningOfALineTheFirstIdIsTold) {
  EXPECT_EQ(id_of_beginning(R"({"a": [1], "id": "x\n", "stdin": "yyy)"), "x\n");
  for (const char* head :
       {R"({"stdin": "yyy)", R"({"id": "x)", R"({"a": {{"id": "x")", R"({"a": {"id": "x")",
        "{\"id\": \"\xff\", \"stdin\": \"y", R"({"id": "x", "id": "y", "stdin": "y)"}) {
    EXPECT_EQ(id_of_beginning(head), "") << head;
  }
}

TEST(ResultLine, IsReadAsItWasWritten) {
  const std::string done = result_line("a\n", R"({"status":"exited","exit_code":0,"stdout":"x"})");
  EXPECT_EQ(done, R"({"id":"a\n","status":"exited","exit_code":0,"stdout":"x"})");
  const Result<ResultLine> read = read_result_line(done);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().id, "a\n");
  EXPECT_EQ(read.value().ending, Ending::kDone);
  const Error error{ErrorCode::kPathNotFound, "gone", "/cwd", ""};
  const Result<ResultLine> bad = read_result_line(error_line_of(std::nullopt, 12, error));
  ASSERT_TRUE(bad.ok());
  EXPECT_EQ(bad.value().id, std::nullopt);
  EXPECT_EQ(bad.value().line, 12U);
  EXPECT_EQ(bad.value().ending, Ending::kError);
  EXPECT_EQ(bad.value().error_code, "path_not_found");
}

TEST(ResultLine, TellsEndingsApart) {
  const auto ending = [](std::string_view status, std::string_view code) {
    return read_result_line("{\"id\":\"a\",\"status\":\"" + std::string(status) +
                            "\",\"exit_code\":" + std::string(code) + "}")
        .value()
        .ending;
  };
  EXPECT_EQ(ending("exited", "0"), Ending::kDone);
  EXPECT_EQ(ending("exited", "1"), Ending::kFailed);
  EXPECT_EQ(ending("signaled", "null"), Ending::kFailed);
  EXPECT_EQ(ending("limit", "null"), Ending::kFailed);
  EXPECT_EQ(ending("denied", "null"), Ending::kRefused);
  EXPECT_EQ(ending("needs_approval", "null"), Ending::kRefused);
  EXPECT_EQ(ending("error", "null"), Ending::kError);
  EXPECT_EQ(ending("cancelled", "null"), Ending::kCancelled);
}

TEST(ResultLine, IsNothingWithoutAnIdAndAStatus) {
  EXPECT_FALSE(read_result_line(R"({"id":"a"})").ok());
  EXPECT_FALSE(read_result_line(R"({"status":"exited"})").ok());
  EXPECT_FALSE(read_result_line(R"({"id":"a","command":"true"})").ok());
}

TEST(TaskLine, OnlyWhatMayPassIsTriedAgain) {
  EXPECT_TRUE(can_pass("setup_failed"));
  EXPECT_TRUE(can_pass("cwd_not_visible"));
  EXPECT_FALSE(can_pass("unknown_field"));
  EXPECT_FALSE(can_pass("not_found"));
  EXPECT_FALSE(can_pass(""));
}

// Whatever the fuzzer has found: neither reader fails but by its error.
TEST(TaskLine, ReadsTheCorpus) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SBX_SOURCE_DIR "/fuzz/batch/corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Result<TaskLine> task = read_task_line(text);
    EXPECT_TRUE(!task.ok() || !task.value().id.empty()) << entry.path();
    (void)read_result_line(text);
    (void)id_of_refused(text);
    ++files;
  }
  EXPECT_GT(files, 5);
}

}  // namespace
}  // namespace sbx::batch
