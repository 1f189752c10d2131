// SPDX-License-Identifier: Apache-2.0
// Nothing of an answer but its numbers is left unredacted.
#include "run/redaction.h"

#include <gtest/gtest.h>

#include "policy/request.h"
#include "run/run.h"

namespace sbx {
namespace {

const std::string kToken = std::string("ghp_") + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5";

RedactionInput sample_redaction() {
  Policy policy;
  policy.run.output.redact = true;
  const Environment environment = {{"MY_SECRET", "correct-horse-battery"}, {"PLAIN", "plain-text"}};
  return choose_redaction(policy, environment).value();
}

Outcome sample_outcome(const std::string& secret) {
  Outcome outcome;
  outcome.command = "echo " + secret;
  outcome.argv = {"bash", "-c", "echo " + secret};
  outcome.cwd = "/work/dir " + secret;
  outcome.description = "prints " + secret;
  outcome.denials.push_back(
      {Refuser::kMount, "open", "/x/dir " + secret, 1, secret, "a " + secret});
  outcome.connections.push_back({secret + ".test", "", 80, 0, 0, true, {}});
  outcome.connections[0].requests.push_back(
      {0, "GET", secret + ".test", "/" + secret, 200, 0, 0, ""});
  outcome.changes = {{"/work/dir " + secret, "created"}};
  outcome.sandbox.warnings.push_back("about " + secret);
  outcome.error =
      Error{ErrorCode::kPathNotFound, "no such path: " + secret, "/x/dir " + secret, ""};
  return outcome;
}

std::string all_text(const Outcome& outcome) {
  std::string text = outcome.command + outcome.cwd + *outcome.description +
                     outcome.denials[0].target + outcome.changes->front().path +
                     outcome.sandbox.warnings[0] + outcome.error->message + outcome.error->where;
  text += outcome.denials[0].program + outcome.denials[0].grant + outcome.connections[0].name +
          outcome.connections[0].requests[0].host + outcome.connections[0].requests[0].path;
  for (const std::string& argument : outcome.argv) text += argument;
  return text;
}

TEST(RedactOutcome, TakesSecretsOutOfEveryField) {
  for (const std::string& secret : {kToken, std::string("correct-horse-battery")}) {
    Outcome outcome = sample_outcome(secret);
    redact_outcome(sample_redaction(), outcome);
    EXPECT_EQ(all_text(outcome).find(secret), std::string::npos) << all_text(outcome);
    EXPECT_EQ(outcome.argv, (std::vector<std::string>{"bash", "-c", "echo [REDACTED]"}));
    EXPECT_EQ(outcome.command, "echo [REDACTED]");
  }
}

TEST(RedactOutcome, KnowsAValueInTheNameOfAHostThatItsCaseIsGoneFrom) {
  Policy policy;
  policy.run.output.redact = true;
  Outcome outcome;
  const std::string host = "abcd1234efgh.test";
  outcome.denials = {
      {Refuser::kNetwork, "dns", host, 1, "sh", "network.allow += [\"" + host + "\"]"},
      {Refuser::kMount, "open", "/" + host, 1, "", ""}};
  outcome.connections.push_back({host, "", 80, 0, 0, true, {}});
  outcome.connections[0].requests.push_back({0, "GET", host, "/", 200, 0, 0, ""});
  redact_outcome(choose_redaction(policy, {{"API_TOKEN", "abcd1234EFGH"}}).value(), outcome);
  EXPECT_EQ(outcome.denials[0].target, "[REDACTED].test");
  EXPECT_EQ(outcome.denials[0].grant, "network.allow += [\"[REDACTED].test\"]");
  EXPECT_EQ(outcome.connections[0].name, "[REDACTED].test");
  EXPECT_EQ(outcome.connections[0].requests[0].host, "[REDACTED].test");
  EXPECT_EQ(outcome.denials[1].target, "/" + host);
}

TEST(RedactOutcome, ReadsTheEscapesOfTheResultLine) {
  const auto redacted = [](std::string json) {
    Outcome outcome;
    outcome.result_json = std::move(json);
    redact_outcome(sample_redaction(), outcome);
    return *outcome.result_json;
  };
  std::string escaped;
  for (const char c : std::string("correct-horse-battery"))
    escaped += "\\u00" + std::string(1, "0123456789abcdef"[c / 16]) + "0123456789abcdef"[c % 16];
  EXPECT_EQ(redacted("{\"a\": [1, \"x " + escaped + "\"], \"b\":\"\\u00e9\"}"),
            "{\"a\": [1, \"x [REDACTED]\"], \"b\":\"\\u00e9\"}");
  EXPECT_EQ(redacted("{\"" + escaped + "\":\"\\n\"}"), "{\"[REDACTED]\":\"\\n\"}");
}

TEST(RedactOutcome, AnArgumentsNameMayBeTheOneBeforeIt) {
  const auto redacted = [](std::vector<std::string> argv) {
    Outcome outcome;
    outcome.argv = std::move(argv);
    redact_outcome(sample_redaction(), outcome);
    return outcome.argv;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(redacted({"/bin/echo", "--password", "hunter2-Xk9vQz71", "--user", "ann"}),
            (Words{"/bin/echo", "--password", "[REDACTED]", "--user", "ann"}));
  EXPECT_EQ(redacted({"it's", "--password", "Xk9v 'Qz71", "", "end of it"}),
            (Words{"it's", "--password", "[REDACTED]", "", "end of it"}));
  EXPECT_EQ(redacted({"curl", "-u", "ann:hunter2-Xk9vQz71", "https://host.test/"}),
            (Words{"curl", "-u", "ann:[REDACTED]", "https://host.test/"}));
  EXPECT_EQ(redacted({"--token", kToken, kToken}), (Words{"--token", "[REDACTED]", "[REDACTED]"}));
  EXPECT_EQ(redacted({"--password", "", "sort", "-k", "2"}),
            (Words{"--password", "", "sort", "-k", "2"}));
}

TEST(RedactOutcome, KeepsWhatACommandDoesBehindAnAssignment) {
  for (const std::string rest : {"; rm -f keep\necho done", " && id", " | id", " make x"}) {
    Outcome outcome;
    outcome.command = "DB_PASSWORD=hunter2-Xk9vQz71" + rest;
    outcome.argv = {"bash", "-c", outcome.command};
    outcome.description = "DB_PASSWORD=hunter2-Xk9vQz71 and more of it";
    redact_outcome(sample_redaction(), outcome);
    EXPECT_EQ(outcome.command, "DB_PASSWORD=[REDACTED]" + rest);
    EXPECT_EQ(outcome.argv.back(), outcome.command);
    EXPECT_EQ(outcome.description, "DB_PASSWORD=[REDACTED]") << "as env(1) writes it";
  }
}

TEST(WithoutSecrets, TakesThoseOfKnownFormatsOutOfAnError) {
  const Error error = without_secrets(
      Error{ErrorCode::kPathNotFound, "no such path: /x/" + kToken + "/y", "/x/" + kToken, "hint"});
  EXPECT_EQ(error.message, "no such path: /x/[REDACTED]/y");
  EXPECT_EQ(error.where, "/x/[REDACTED]");
  EXPECT_EQ(error.hint, "hint");
  EXPECT_EQ(error.code, ErrorCode::kPathNotFound);
}

TEST(RedactOutcome, LeavesOrdinaryFieldsAlone) {
  Outcome outcome = sample_outcome("plain-text");
  const std::string before = all_text(outcome);
  redact_outcome(sample_redaction(), outcome);
  EXPECT_EQ(all_text(outcome), before);
}

// A key that has no end takes what follows it: the next field must not go with it, nor come back.
TEST(RedactOutcome, KeepsFieldsApart) {
  Outcome outcome = sample_outcome("-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1c7+9z5P");
  outcome.argv = {"a", "b"};
  outcome.description = "TOKEN=";
  redact_outcome(sample_redaction(), outcome);
  EXPECT_EQ(outcome.argv, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(outcome.description, "TOKEN=");
  EXPECT_EQ(outcome.command.find("MIIEow"), std::string::npos);

  Outcome odd = sample_outcome(std::string("x\n\0\ny", 5));
  odd.description = kToken;
  redact_outcome(sample_redaction(), odd);
  EXPECT_EQ(odd.command, std::string("echo x\n\0\ny", 10));
  EXPECT_EQ(odd.description, "[REDACTED]");
}

TEST(RedactOutcome, DoesNothingWhereTheProfileDoesNotRedact) {
  Policy policy;
  policy.run.output.redact = false;
  Outcome outcome = sample_outcome(kToken);
  redact_outcome(choose_redaction(policy, {{"MY_SECRET", "correct-horse"}}).value(), outcome);
  EXPECT_EQ(outcome.description, "prints " + kToken);
}

TEST(ErrorOutcome, DeniesANetworkThatIsNotGranted) {
  Policy policy;
  policy.sandbox.workspace = "/work";
  Request request;
  request.network = true;
  const Outcome outcome =
      error_outcome(apply_request(std::make_shared<const Policy>(policy), request).error());
  EXPECT_EQ(outcome.status, RunStatus::kDenied);
  EXPECT_EQ(outcome.exit_status, 126);
  ASSERT_EQ(outcome.denials.size(), 1U);
  EXPECT_EQ(outcome.denials[0].layer, Refuser::kNetwork);
  EXPECT_EQ(outcome.denials[0].grant, kNetworkGrant);
}

}  // namespace
}  // namespace sbx
