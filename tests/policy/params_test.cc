// SPDX-License-Identifier: Apache-2.0
// Params of run and start: what is taken over, and every way to be refused.
#include "policy/params.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "../../fuzz/rpc/params_property.h"
#include "support/corpus.h"

namespace sbx {
namespace {

Result<Request> parse_request(const std::string& params, const std::string& pointer = "") {
  SBX_TRY(const nlohmann::json document, read_params(params));
  return decode_request(document, pointer);
}

Request decoded(const std::string& params) {
  const auto request = parse_request(params);
  if (!request.ok()) {
    ADD_FAILURE() << params << ": " << error_line(request.error());
    return {};
  }
  return request.value();
}

Error refused(const std::string& params) {
  const auto request = parse_request(params);
  if (request.ok()) {
    ADD_FAILURE() << "accepted: " << params;
    return {};
  }
  return request.error();
}

TEST(DecodeRequest, TakesEveryFieldOver) {
  const Request request = decoded(R"({
    "command": "make test", "description": "run the tests", "cwd": "src", "env": {"A": "1"},
    "stdin": "in\n", "timeout_ms": 5000, "network": true, "output_kb": 64, "file_kb": 256,
    "merge": true, "approval": "abc",
    "files": [{"path": "a/b.txt", "content": "text"},
              {"path": "c", "content_base64": "AP8=", "mode": "0755"}]})");
  EXPECT_EQ(request.command, "make test");
  EXPECT_TRUE(request.argv.empty());
  EXPECT_EQ(request.description, "run the tests");
  EXPECT_EQ(request.cwd, "src");
  EXPECT_EQ(request.env.at("A"), "1");
  EXPECT_EQ(request.stdin_text, "in\n");
  EXPECT_EQ(request.timeout_ms, 5000);
  EXPECT_EQ(request.network, true);
  EXPECT_EQ(request.output_kb, 64);
  EXPECT_EQ(request.file_kb, 256);
  EXPECT_TRUE(request.merge);
  EXPECT_EQ(request.approval, "abc");
  ASSERT_EQ(request.files.size(), 2U);
  EXPECT_EQ(request.files[0].path, "a/b.txt");
  EXPECT_EQ(request.files[0].content, "text");
  EXPECT_EQ(request.files[0].mode, std::nullopt);
  EXPECT_EQ(request.files[1].content, std::string("\0\xff", 2));
  EXPECT_EQ(request.files[1].mode, 0755U);
}

TEST(DecodeRequest, JoinsArgumentsForDisplay) {
  const Request request = decoded(R"({"argv": ["echo", "a b"]})");
  EXPECT_EQ(request.argv, (std::vector<std::string>{"echo", "a b"}));
  EXPECT_EQ(request.command, "echo 'a b'");
}

TEST(DecodeRequest, TakesNullForAbsent) {
  const Request request = decoded(
      R"({"command": "true", "argv": null, "description": null, "cwd": null, "env": null,
          "stdin": null, "timeout_ms": null, "files": null, "network": null, "output_kb": null,
          "file_kb": null, "merge": null, "approval": null})");
  EXPECT_EQ(request.command, "true");
  EXPECT_EQ(request.stdin_text, std::nullopt);
  EXPECT_EQ(request.network, std::nullopt);
  EXPECT_EQ(request.timeout_ms, std::nullopt);
  EXPECT_TRUE(request.files.empty());
}

struct Refusal {
  const char* params;
  ErrorCode code;
  const char* where;
};

TEST(DecodeRequest, RefusesWhatIsWrongAndSaysWhere) {
  const Refusal refusals[] = {
      {R"({})", ErrorCode::kMissingField, "/command"},
      {R"([])", ErrorCode::kWrongType, ""},
      {R"({"command": "a", "argv": ["a"]})", ErrorCode::kBadValue, "/argv"},
      {R"({"command": ""})", ErrorCode::kBadValue, "/command"},
      {R"({"command": "a\u0000b"})", ErrorCode::kBadValue, "/command"},
      {R"({"command": 1})", ErrorCode::kWrongType, "/command"},
      {R"({"argv": []})", ErrorCode::kBadValue, "/argv"},
      {R"({"argv": [""]})", ErrorCode::kBadValue, "/argv"},
      {R"({"argv": ["a", "b\u0000"]})", ErrorCode::kBadValue, "/argv/1"},
      {R"({"argv": "ls"})", ErrorCode::kWrongType, "/argv"},
      {R"({"command": "a", "timeout": 3})", ErrorCode::kUnknownField, "/timeout"},
      {R"({"command": "a", "timeout_ms": 0})", ErrorCode::kOutOfRange, "/timeout_ms"},
      {R"({"command": "a", "timeout_ms": -1})", ErrorCode::kOutOfRange, "/timeout_ms"},
      {R"({"command": "a", "timeout_ms": 1.9})", ErrorCode::kWrongType, "/timeout_ms"},
      {R"({"command": "a", "timeout_ms": "5"})", ErrorCode::kWrongType, "/timeout_ms"},
      {R"({"command": "a", "timeout_ms": true})", ErrorCode::kWrongType, "/timeout_ms"},
      {R"({"command": "a", "timeout_ms": 18446744073709551615})", ErrorCode::kOutOfRange,
       "/timeout_ms"},
      {R"({"command": "a", "timeout_ms": 1e400})", ErrorCode::kOutOfRange, "/timeout_ms"},
      {R"({"command": "a", "output_kb": -1})", ErrorCode::kOutOfRange, "/output_kb"},
      {R"({"command": "a", "file_kb": 0.5})", ErrorCode::kWrongType, "/file_kb"},
      {R"({"command": "a", "command": "b"})", ErrorCode::kDuplicateKey, "/command"},
      {R"({"command": "a", "env": {"A": 1}})", ErrorCode::kWrongType, "/env/A"},
      {R"({"command": "a", "env": {"A B": "1"}})", ErrorCode::kBadValue, "/env/A B"},
      {R"({"command": "a", "env": {"A": "\u0000"}})", ErrorCode::kBadValue, "/env/A"},
      {R"({"command": "a", "merge": "yes"})", ErrorCode::kWrongType, "/merge"},
      {R"({"command": "a", "files": {}})", ErrorCode::kWrongType, "/files"},
      {R"({"command": "a", "files": [{}]})", ErrorCode::kMissingField, "/files/0/path"},
      {R"({"command": "a", "files": [{"path": "x"}]})", ErrorCode::kMissingField, "/files/0"},
      {R"({"command": "a", "files": [{"path": "x", "content": "", "content_base64": ""}]})",
       ErrorCode::kBadValue, "/files/0/content_base64"},
      {R"({"command": "a", "files": [{"path": "x", "content_base64": "A"}]})", ErrorCode::kBadValue,
       "/files/0/content_base64"},
      {R"({"command": "a", "files": [{"path": "x", "content": "", "mode": "4755"}]})",
       ErrorCode::kBadValue, "/files/0/mode"},
      {R"({"command": "a", "files": [{"path": "x", "content": "", "mode": 493}]})",
       ErrorCode::kWrongType, "/files/0/mode"},
      {R"({"command": "a", "files": [{"path": "x", "content": "", "mode": "0o755"}]})",
       ErrorCode::kBadValue, "/files/0/mode"},
      {R"({"command": "a")", ErrorCode::kBadJson, ""},
      {"{\"command\": \"\xff\"}", ErrorCode::kBadJson, ""},
  };
  for (const Refusal& refusal : refusals) {
    const Error error = refused(refusal.params);
    EXPECT_EQ(error.code, refusal.code) << refusal.params << ": " << error_line(error);
    EXPECT_EQ(error.where, refusal.where) << refusal.params << ": " << error_line(error);
  }
}

TEST(DecodeRequest, NamesTheNearestKnownField) {
  EXPECT_NE(refused(R"({"command": "a", "timeout_sm": 3})").hint.find("timeout_ms"),
            std::string::npos);
}

TEST(DecodeRequest, PutsThePlaceOfItsParamsBeforeEachPointer) {
  const auto request = parse_request(R"({"command": "a", "timeout_ms": 0})", "/params");
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().where, "/params/timeout_ms");
}

TEST(DecodeRequest, RefusesANestingBombAndSixteenMebibytes) {
  const std::string bomb = R"({"command": )" + std::string(100'000, '[');
  EXPECT_EQ(refused(bomb).code, ErrorCode::kTooDeep);
  std::string large = R"({"command": ")";
  large.append(std::size_t{16} << 20, 'a');
  large += "\"}";
  EXPECT_EQ(refused(large).code, ErrorCode::kTooLarge);
}

// The patterns of the schema say what the decoder does.
TEST(RequestSchema, AgreesWithTheDecoderOnFiles) {
  const auto schema = nlohmann::json(request_schema({}));
  const auto& file = schema["properties"]["files"]["items"]["properties"];
  const auto agree = [&](const char* field, const std::string& extra,
                         const std::vector<std::string>& texts) {
    const std::regex pattern(file[field]["pattern"].get<std::string>());
    for (const std::string& text : texts) {
      const std::string params = R"({"command": "a", "files": [{"path": "x")" + extra + ", \"" +
                                 field + "\": \"" + text + "\"}]}";
      EXPECT_EQ(std::regex_search(text, pattern), parse_request(params).ok()) << params;
    }
  };
  agree("mode", R"(, "content": "")",
        {"", "0", "7", "644", "0644", "00644", "888", "1777", "4755", "0755", "755 ", " 755"});
  agree("content_base64", "",
        {"", "A", "AA", "AAA", "AAAA", "AA==", "AB==", "AAA=", "AAB=", "AAE=", "A===", "====",
         "AAAAAA==", "AAAA====", "AA=A", "-_-_", "+/+/", "AAAA ", "AA AA"});
}

TEST(RequestSchema, KnowsEveryFieldOfTheContract) {
  const auto schema = nlohmann::json(request_schema({}));
  for (const char* name : {"command", "argv", "description", "cwd", "env", "stdin", "timeout_ms",
                           "files", "network", "output_kb", "file_kb", "merge", "approval"}) {
    EXPECT_TRUE(schema["properties"].contains(name)) << name;
  }
  EXPECT_EQ(schema["properties"]["argv"]["minItems"], 1);
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["not"]["required"], nlohmann::json::array({"command", "argv"}));
}

TEST(DecodeRequest, CorpusHolds) {
  const auto files = corpus_files("rpc/params_corpus");
  EXPECT_GE(files.size(), 10U);
  for (const CorpusFile& file : files) EXPECT_TRUE(params_hold(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx
