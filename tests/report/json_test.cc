// SPDX-License-Identifier: Apache-2.0
// Tests of report/: the answer parsed back, its keys and their order, escapes, errors.
#include "report/json.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "json/writer.h"
#include "report/audit.h"
#include "sample_outcomes.h"

namespace sbx {
namespace {

using Json = nlohmann::ordered_json;

Json answer_of(const Outcome& outcome) { return Json::parse(outcome_to_json(outcome)); }

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

std::string written(std::string_view bytes) {
  std::string text;
  JsonWriter(text).string(bytes);
  return text;
}

std::string tenths(double value) {
  std::string text;
  JsonWriter(text).tenths(value);
  return text;
}

TEST(ResultJson, HasTheKeysOfTheContractInItsOrder) {
  const std::vector<std::string> expected = {
      "status",       "exit_code",    "signal",    "timed_out",   "stdout",      "stderr",
      "stdout_bytes", "stderr_bytes", "truncated", "encoding",    "output_path", "result_json",
      "command",      "argv",         "cwd",       "description", "started_at",  "duration_ms",
      "usage",        "limit",        "denials",   "redactions",  "sandbox",     "warnings",
      "layer",        "changes",      "approval",  "error"};
  for (const Outcome& outcome : sample_outcomes()) EXPECT_EQ(keys_of(answer_of(outcome)), expected);
}

TEST(ResultJson, IsOneLineWithoutControlBytes) {
  for (const Outcome& outcome : sample_outcomes()) {
    for (const char c : outcome_to_json(outcome)) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != '\x7f');
    }
  }
}

TEST(ResultJson, CarriesEveryFieldOfAFullOutcome) {
  const Json answer = answer_of(sample_outcomes()[0]);
  EXPECT_EQ(answer["status"], "exited");
  EXPECT_EQ(answer["exit_code"], 7);
  EXPECT_EQ(answer["signal"], "SIGSEGV");
  EXPECT_EQ(answer["timed_out"], false);
  EXPECT_EQ(answer["stdout"], "out\n");
  EXPECT_EQ(answer["stdout_bytes"], 4);
  EXPECT_EQ(answer["stderr_bytes"], 1'000'000);
  EXPECT_EQ(answer["truncated"], Json({{"stdout", false}, {"stderr", true}}));
  EXPECT_EQ(answer["encoding"], Json({{"stdout", "utf-8"}, {"stderr", "base64"}}));
  EXPECT_EQ(answer["argv"], Json({"bash", "-c", "echo \"hi\"; false"}));
  EXPECT_EQ(answer["cwd"], "/work space");
  EXPECT_EQ(answer["description"], "says hi");
  EXPECT_EQ(answer["started_at"], "2026-01-31T12:00:00.123Z");
  EXPECT_EQ(answer["duration_ms"], 3.2);
  EXPECT_EQ(answer["usage"], Json({{"user_ms", 1.0}, {"system_ms", 1.1}, {"max_rss_kb", 3400}}));
  EXPECT_EQ(answer["limit"], "memory");
  EXPECT_EQ(answer["denials"][0], Json({{"layer", "seccomp"},
                                        {"operation", "mount"},
                                        {"target", ""},
                                        {"count", 3},
                                        {"program", "mount"},
                                        {"grant", "seccomp.allow += \"mount\""}}));
  EXPECT_EQ(answer["redactions"], Json({{"count", 0}, {"rules", Json::array()}}));
  EXPECT_EQ(answer["sandbox"]["layers"]["landlock"], 7);
  EXPECT_EQ(
      answer["sandbox"]["limits"],
      Json({{"memory", "cgroup2"}, {"pids", "rlimit"}, {"timeout", "watch"}, {"layer", "watch"}}));
  EXPECT_EQ(answer["sandbox"]["degraded"][0]["what"], "cgroup");
  EXPECT_EQ(answer["sandbox"]["warnings"], Json({"something to know"}));
  EXPECT_EQ(answer["warnings"], answer["sandbox"]["warnings"]);
  EXPECT_EQ(answer["changes"][0], Json({{"path", "src/a.c"}, {"kind", "modified"}}));
  EXPECT_EQ(answer["error"], Json({{"code", "setup_failed"},
                                   {"message", "mount(/x): EPERM"},
                                   {"where", "mount"},
                                   {"hint", "try again"}}));
}

TEST(ResultJson, HasNullForWhatIsAbsentAndAnArrayForNoArguments) {
  const Json answer = answer_of({});
  for (const char* key : {"exit_code", "signal", "output_path", "result_json", "description",
                          "limit", "changes", "approval", "error"}) {
    EXPECT_TRUE(answer[key].is_null()) << key;
  }
  EXPECT_EQ(answer["argv"], Json::array());
  EXPECT_EQ(answer["denials"], Json::array());
  Outcome outcome;
  outcome.error = Error{};
  EXPECT_TRUE(answer_of(outcome)["error"]["where"].is_null());
  EXPECT_TRUE(answer_of(outcome)["error"]["hint"].is_null());
}

TEST(ResultJson, NamesTheLayersInOrderAndReportsOnlyConfirmedOnes) {
  Outcome outcome;
  outcome.sandbox.landlock_abi = 7;  // known, but not confirmed
  outcome.sandbox.confirmed.add(Layer::kNoNewPrivs);
  const Json layers = answer_of(outcome)["sandbox"]["layers"];
  const std::vector<std::string> expected = {"user",     "mount",        "pid",         "net",
                                             "ipc",      "uts",          "cgroup",      "seccomp",
                                             "landlock", "no_new_privs", "capabilities"};
  EXPECT_EQ(keys_of(layers), expected);
  for (const auto& item : layers.items()) EXPECT_EQ(item.value(), item.key() == "no_new_privs");
}

TEST(ResultJson, NamesEverySignal) {
  Outcome outcome;
  std::set<std::string> names;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    outcome.signal = signal;
    names.insert(answer_of(outcome)["signal"].get<std::string>());
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(SIGRTMAX));
  EXPECT_TRUE(names.contains("SIGKILL"));
  EXPECT_TRUE(names.contains("SIGRTMIN"));
  EXPECT_TRUE(names.contains("SIGRTMIN+1"));
}

TEST(ResultJson, TimedOutIsTrueForThatStatusAlone) {
  for (const Outcome& outcome : sample_outcomes()) {
    EXPECT_EQ(answer_of(outcome)["timed_out"], outcome.status == RunStatus::kTimedOut);
  }
}

TEST(ResultJson, KnowsLeapDaysAndBoundsTheClock) {
  Outcome outcome;
  const auto at = [&](std::int64_t unix_ms) {
    outcome.started_at_ms = unix_ms;
    return answer_of(outcome)["started_at"].get<std::string>();
  };
  EXPECT_EQ(at(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(at(1'709'209'845'006), "2024-02-29T12:30:45.006Z");
  EXPECT_EQ(at(-1), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(at(INT64_MAX), "9999-12-31T23:59:59.999Z");
}

TEST(JsonWriter, EscapesControlsAndRepairsText) {
  EXPECT_EQ(written("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(written(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
  EXPECT_EQ(written("\xC2\x9B\xC2\x80\xC2\xA0\xC2"), "\"\\u009b\\u0080\xC2\xA0\xEF\xBF\xBD\"");
  EXPECT_EQ(written("é漢😀\xE2\x80\xA8"), "\"é漢😀\\u2028\"");
  EXPECT_EQ(written("\xE2\x80\xA9€\xE2\x80\xAA"), "\"\\u2029€\xE2\x80\xAA\"");
}

TEST(JsonWriter, EveryCharacterComesBackFromAParser) {
  for (unsigned code = 0; code < 0x3000; ++code) {
    std::string text;
    if (code < 0x80) {
      text = {char(code)};
    } else if (code < 0x800) {
      text = {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
    } else {
      text = {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
    }
    EXPECT_EQ(Json::parse(written(text)).get<std::string>(), text) << code;
  }
}

TEST(JsonWriter, RoundsToTenthsAndRefusesNonsense) {
  EXPECT_EQ(tenths(3.24), "3.2");
  EXPECT_EQ(tenths(3.25), "3.3");
  EXPECT_EQ(tenths(0.04), "0.0");
  EXPECT_EQ(tenths(119'999.96), "120000.0");
  EXPECT_EQ(tenths(-1), "0.0");
  EXPECT_EQ(tenths(std::nan("")), "0.0");
  EXPECT_EQ(tenths(HUGE_VAL), "1000000000000000.0");
}

TEST(ErrorsJson, ListsEveryCodeOnceWithItsMeaning) {
  const Json errors = Json::parse(errors_json());
  ASSERT_EQ(errors.size(), error_meanings().size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_EQ(errors[i],
              Json({{"code", error_meanings()[i].name}, {"meaning", error_meanings()[i].meaning}}));
  }
}

TEST(Result, ListsConnectionsWhereHttpRulesCountEvenIfThereAreNone) {
  EXPECT_FALSE(answer_of({}).contains("connections"));
  Outcome outcome;
  outcome.has_http = true;
  EXPECT_EQ(answer_of(outcome)["connections"], Json::array());
  EXPECT_EQ(Json::parse(audit_line({}, outcome))["connections"], Json::array());
}

TEST(ResultSchema, IsJsonAndRequiresExactlyTheKeysThatAreWritten) {
  const Json schema = Json::parse(result_schema_json());
  const auto keys = keys_of(answer_of({}));
  EXPECT_EQ(schema["required"].get<std::vector<std::string>>(), keys);
  auto known = keys_of(schema["properties"]);
  // Connections stand there where there were any, `shell` in a call of the kept shell, `id` and
  // `line` in a line of batch.
  std::erase_if(known, [](const std::string& key) {
    return key.ends_with("connections") || key == "unlisted_requests" || key == "shell" ||
           key == "id" || key == "line";
  });
  EXPECT_EQ(known, keys);
  for (const auto& item : schema["properties"].items()) {
    EXPECT_TRUE(item.value().contains("description")) << item.key();
  }
}

}  // namespace
}  // namespace sbx
