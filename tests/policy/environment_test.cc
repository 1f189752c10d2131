// SPDX-License-Identifier: Apache-2.0
// The scrub modes as tables: what is taken out, and what must not be.
#include "policy/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sbx {
namespace {

TEST(Environment, KnowsTheNamesOfCredentials) {
  for (const char* name : {"GITHUB_TOKEN",
                           "GH_TOKEN",
                           "NPM_AUTH",
                           "OPENAI_API_KEY",
                           "ANTHROPIC_API_KEY",
                           "api_key",
                           "DB_PASSWORD",
                           "PGPASSWORD",
                           "MYSQL_PWD",
                           "SECRET",
                           "CLIENT_SECRET",
                           "AWS_REGION",
                           "AWS_ACCESS_KEY_ID",
                           "AWS_SECRET_ACCESS_KEY",
                           "AWS_SESSION_TOKEN",
                           "AZURE_TENANT_ID",
                           "VAULT_ADDR",
                           "GPG_KEY",
                           "SSH_KEY",
                           "SIGNING_KEY",
                           "PRIVATE_KEY",
                           "DATABASE_URL",
                           "SENTRY_DSN",
                           "REDIS_URL",
                           "SLACK_WEBHOOK_URL",
                           "SLACK_WEBHOOK",
                           "BW_SESSION",
                           "OP_SESSION_team",
                           "PRIVATE_PEM",
                           "GIT_CONFIG_PARAMETERS",
                           "COOKIE",
                           "BEARER",
                           "JWT",
                           "GITLAB_PAT",
                           "GOOGLE_APPLICATION_CREDENTIALS",
                           "SSH_AUTH_SOCK",
                           "DBUS_SESSION_BUS_ADDRESS",
                           "XDG_RUNTIME_DIR",
                           "DISPLAY",
                           "DOCKER_HOST",
                           "KUBECONFIG",
                           "GIT_ASKPASS",
                           "SUDO_ASKPASS",
                           "NETRC",
                           "SSHPASS",
                           "DBPASS",
                           "DB_PASS",
                           "MYSQLPASS",
                           "SMTPPASS_2",
                           "STOREPASS",
                           "KEYPASS",
                           "PASSCODE",
                           "AUTHORIZATION",
                           "ACCESSKEY",
                           "LDAP_BIND_PW",
                           "WG_PRIVKEY",
                           "IDENTITY_HEADER",
                           "STRIPE_SK",
                           "OTP",
                           "LOGIN_OTP",
                           "TOTP_SEED",
                           "MFA_CODE",
                           "MONGODB_URI",
                           "CELERY_BROKER_URL",
                           "Npm_Config_AuthToken"}) {
    EXPECT_TRUE(is_sensitive_name(name)) << name;
  }
}

TEST(Environment, LeavesOrdinaryNamesAlone) {
  for (const char* name : {"PATH",
                           "HOME",
                           "USER",
                           "LANG",
                           "LC_ALL",
                           "TERM",
                           "SHELL",
                           "PWD",
                           "OLDPWD",
                           "TZ",
                           "EDITOR",
                           "AUTHOR",
                           "GIT_AUTHOR_NAME",
                           "GIT_CONFIG_COUNT",
                           "GIT_CONFIG_KEY_0",
                           "GIT_CONFIG_VALUE_0",
                           "DESKTOP_SESSION",
                           "KEYBOARD",
                           "MONKEY",
                           "KEYMAP",
                           "PATTERN",
                           "COMPASS",
                           "BYPASSED",
                           "BYPASS",
                           "CACHE_BYPASS",
                           "PASSENGER",
                           "PASSENGER_APP_ENV",
                           "OTP_VERSION",
                           "SK",
                           "PW",
                           "SK_BUFF",
                           "CSSPW_X",
                           "SPIN",
                           "PINNED",
                           "CERTAIN",
                           "JAVA_HOME",
                           "GOPATH",
                           "CARGO_HOME",
                           "NODE_ENV",
                           "VIRTUAL_ENV",
                           "CC",
                           "CFLAGS",
                           "MAKEFLAGS",
                           "HTTP_PROXY",
                           "XDG_DATA_HOME",
                           "HOSTNAME",
                           ""}) {
    EXPECT_FALSE(is_sensitive_name(name)) << name;
  }
}

TEST(Environment, NeverTakesWhatChangesWhatProgramsLoad) {
  for (const char* name :
       {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS",
        "BASH_ENV", "ENV", "PROMPT_COMMAND", "CDPATH", "PERL5LIB", "RUBYOPT", "GIT_SSH_COMMAND",
        "LD_DEBUG", "BASH_FUNC_ls%%", "GCONV_PATH", "IFS"}) {
    EXPECT_TRUE(is_never_settable(name)) << name;
  }
  for (const char* name :
       {"PATH", "HOME", "NODE_ENV", "ENVIRONMENT", "OLD_PATH", "RUBY", "LDFLAGS"}) {
    EXPECT_FALSE(is_never_settable(name)) << name;
  }
}

class Scrub : public ::testing::Test {
 protected:
  Environment scrubbed(ScrubMode mode) {
    policy_.run.environment.scrub = mode;
    return make_environment(policy_, inherited_, "ann");
  }

  Policy policy_ = [] {
    Policy policy;
    policy.sandbox.home = "/home/ann";
    return policy;
  }();
  Environment inherited_ = {{"PATH", "/opt/bin"},      {"GITHUB_TOKEN", "secret"},
                            {"CFLAGS", "-O2"},         {"LD_PRELOAD", "x.so"},
                            {"SBX_PROFILE", "strict"}, {"LC_ALL", "C"},
                            {"HOME", "/root"},         {"USER", "bob"},
                            {"PAGER", "less"}};
};

TEST_F(Scrub, DefaultTakesCredentialsOut) {
  const Environment out = scrubbed(ScrubMode::kDefault);
  EXPECT_FALSE(out.contains("GITHUB_TOKEN"));
  EXPECT_FALSE(out.contains("LD_PRELOAD"));
  EXPECT_FALSE(out.contains("SBX_PROFILE"));
  EXPECT_EQ(out.at("CFLAGS"), "-O2");
  EXPECT_EQ(out.at("PATH"), "/opt/bin");
  EXPECT_EQ(out.at("HOME"), "/home/ann");
  EXPECT_EQ(out.at("USER"), "ann");
  EXPECT_EQ(out.at("TMPDIR"), "/tmp");
}

TEST_F(Scrub, NamesTheShellWhereTheCallerNamesNone) {
  EXPECT_EQ(scrubbed(ScrubMode::kDefault).at("SHELL"), "/bin/bash");
  policy_.sandbox.commands.shell = "/opt/bin/zsh";
  EXPECT_EQ(scrubbed(ScrubMode::kStrict).at("SHELL"), "/opt/bin/zsh");
  inherited_["SHELL"] = "/bin/fish";
  EXPECT_EQ(scrubbed(ScrubMode::kDefault).at("SHELL"), "/bin/fish");
  inherited_.erase("SHELL");
  EXPECT_FALSE(scrubbed(ScrubMode::kOff).contains("SHELL"));
  policy_.sandbox.filesystem.base = Base::kHost;
  EXPECT_FALSE(scrubbed(ScrubMode::kDefault).contains("SHELL"));
}

TEST_F(Scrub, TakesPasswordsOutOfProxyUrls) {
  inherited_["https_proxy"] = "http://ann:p@ss@proxy:3128/x@y";
  inherited_["ALL_PROXY"] = "socks5://ann@proxy";
  inherited_["HTTP_PROXY"] = "http://proxy:3128";
  inherited_["NO_PROXY"] = "a@b,.local";
  inherited_["FTP_PROXY"] = "http://ann:secret@proxy";
  inherited_["RSYNC_PROXY"] = "me:pw@proxy:1";
  inherited_["GOPROXY"] = "https://ann:secret@go.test,direct";
  inherited_["PIP_INDEX_URL"] = inherited_["uv_index"] = "https://ann:secret@pip.test/simple";
  policy_.run.environment.pass = {"FTP_PROXY"};
  const Environment out = scrubbed(ScrubMode::kDefault);
  EXPECT_EQ(out.at("RSYNC_PROXY"), "proxy:1");
  EXPECT_EQ(out.at("GOPROXY"), "https://go.test,direct");
  EXPECT_EQ(out.at("PIP_INDEX_URL"), "https://pip.test/simple");
  EXPECT_EQ(out.at("uv_index"), "https://pip.test/simple");
  EXPECT_EQ(out.at("https_proxy"), "http://proxy:3128/x@y");
  EXPECT_EQ(out.at("ALL_PROXY"), "socks5://proxy");
  EXPECT_EQ(out.at("HTTP_PROXY"), "http://proxy:3128");
  EXPECT_EQ(out.at("NO_PROXY"), "a@b,.local");
  EXPECT_EQ(out.at("FTP_PROXY"), "http://ann:secret@proxy");  // the operator's word
  EXPECT_EQ(scrubbed(ScrubMode::kOff).at("ALL_PROXY"), "socks5://ann@proxy");
}

TEST_F(Scrub, TakesPasswordsOutOfUrlsUnderAnyName) {
  inherited_["SITE"] = "postgres://ann:secret@db/app";
  inherited_["NOTE"] = "see https://h.test, ann@h.test or <ssh://git@h.test/x>";
  inherited_["OPTS"] = "--index \"https://ann:secret@pip.test/simple\" -v";
  Environment out = scrubbed(ScrubMode::kDefault);
  EXPECT_EQ(out.at("SITE"), "postgres://db/app");
  EXPECT_EQ(out.at("NOTE"), inherited_["NOTE"]);
  EXPECT_EQ(out.at("OPTS"), "--index \"https://pip.test/simple\" -v");
  EXPECT_EQ(scrubbed(ScrubMode::kOff).at("SITE"), inherited_["SITE"]);
  policy_.run.environment.pass = {"SITE"};
  EXPECT_EQ(scrubbed(ScrubMode::kDefault).at("SITE"), inherited_["SITE"]);
}

Environment git_settings(const Environment& of) {
  Environment out;
  for (const auto& [name, value] : of) {
    if (name.starts_with("GIT_CONFIG_")) out[name] = value;
  }
  return out;
}

TEST_F(Scrub, GitsSettingsStandAndFallInPairs) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"http.https://git.test/.extraheader", "AUTHORIZATION: basic c2VjcmV0OnNlY3JldA=="},
      {"Safe.Directory", "/work"},
      {"credential.helper", "!echo password=secret"},
      {"url.https://ann:secret@git.test/.insteadOf", "https://git.test/"},
      {"url.https://git.test/.insteadOf", "git:"},
      {"core.sshCommand", "ssh -i key"},
      {"nosection", "x"},
      {"color.ui!x", "1"},
      {"url.a\nb.insteadOf", "c"}};
  for (std::size_t i = 0; i < settings.size(); ++i) {
    inherited_["GIT_CONFIG_KEY_" + std::to_string(i)] = settings[i].first;
    inherited_["GIT_CONFIG_VALUE_" + std::to_string(i)] = settings[i].second;
  }
  inherited_["GIT_CONFIG_COUNT"] = std::to_string(settings.size());
  const Environment shared = {{"GIT_CONFIG_COUNT", "2"},
                              {"GIT_CONFIG_KEY_0", "Safe.Directory"},
                              {"GIT_CONFIG_VALUE_0", "/work"},
                              {"GIT_CONFIG_KEY_1", "url.https://git.test/.insteadOf"},
                              {"GIT_CONFIG_VALUE_1", "git:"}};
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kDefault)), shared);
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kStrict)), Environment());
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kOff)), git_settings(inherited_));

  policy_.run.environment.pass = {"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_5", "GIT_CONFIG_VALUE_5",
                                  "GIT_CONFIG_KEY_0"};
  const Environment passed = {{"GIT_CONFIG_COUNT", "1"},
                              {"GIT_CONFIG_KEY_0", "core.sshCommand"},
                              {"GIT_CONFIG_VALUE_0", "ssh -i key"}};
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kStrict)), passed);

  policy_.run.environment.pass.clear();
  for (const char* const count : {"1", "0", "-1", "x", ""}) {
    inherited_["GIT_CONFIG_COUNT"] = count;
    EXPECT_EQ(git_settings(scrubbed(ScrubMode::kDefault)), Environment()) << count;
  }
  inherited_["GIT_CONFIG_COUNT"] = "2000000000";  // more than there are
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kDefault)), shared);
  policy_.run.environment.pass = {"GIT_CONFIG_VALUE_2"};  // a half is none
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kDefault)), shared);
  inherited_.erase("GIT_CONFIG_VALUE_0");
  EXPECT_EQ(git_settings(scrubbed(ScrubMode::kDefault)), Environment());
}

TEST_F(Scrub, GitsAliasesRunNoProgramHoweverTheyAreQuoted) {
  const auto is_shared = [&](const std::string& key, const std::string& value) {
    inherited_["GIT_CONFIG_COUNT"] = "1";
    inherited_["GIT_CONFIG_KEY_0"] = key;
    inherited_["GIT_CONFIG_VALUE_0"] = value;
    return !git_settings(scrubbed(ScrubMode::kDefault)).empty();
  };
  EXPECT_TRUE(is_shared("alias.fixes", "log --max-count=3 --grep fix"));
  for (const char* const value :
       {"!true", "rebase -x true", "rebase \"-x\" true", "rebase '-'ix true", "rebase \\-x true",
        "submodule \"for\"each true", "-c core.pager=true log", "bisect\trun true",
        "fetch --upl=true", "rebase --ex true"}) {
    EXPECT_FALSE(is_shared("alias.a", value)) << value;
  }
  EXPECT_FALSE(is_shared("alias.", "log"));
}

TEST(Names, AreNotTakenForOthersOfTheirLetters) {
  EXPECT_TRUE(is_never_settable("ENV"));
  EXPECT_FALSE(is_never_settable("NEV"));
  EXPECT_TRUE(is_sensitive_name("MY_PAT"));
  EXPECT_FALSE(is_sensitive_name("MY_TAP"));
}

TEST_F(Scrub, WhatHoldsTheValueOfAWithheldCredentialStaysOutside) {
  Credential filed;
  filed.name = "FILED";
  filed.from.file = "/there";
  policy_.run.withheld = {filed};
  policy_.run.withheld_values = {"file-secret-value", "short"};
  inherited_["SHORT"] = "short";
  policy_.run.environment.set = {{"SET", "x file-secret-value"}};
  inherited_["COPY"] = "file-secret-value";
  inherited_["FILED"] = "mine";
  const Environment out = scrubbed(ScrubMode::kOff);
  for (const char* const name : {"COPY", "SET", "FILED"}) EXPECT_FALSE(out.contains(name)) << name;
  EXPECT_TRUE(out.contains("GITHUB_TOKEN"));
  EXPECT_TRUE(out.contains("SHORT"));
}

TEST_F(Scrub, TakesProxiesOutWhereConnectionsGoThroughOneAnyway) {
  inherited_["http_proxy"] = inherited_["FTP_PROXY"] = "http://127.0.0.1:3128";
  policy_.sandbox.upstream_proxy = "http://127.0.0.1:3128";
  policy_.sandbox.network.mode = NetworkMode::kAllowlist;
  policy_.run.environment.pass = {"FTP_PROXY"};
  const Environment out = scrubbed(ScrubMode::kDefault);
  EXPECT_FALSE(out.contains("http_proxy"));
  EXPECT_TRUE(out.contains("FTP_PROXY"));
  policy_.sandbox.network.mode = NetworkMode::kOpen;  // nothing goes through it
  EXPECT_TRUE(scrubbed(ScrubMode::kDefault).contains("http_proxy"));
}

TEST_F(Scrub, StrictKeepsSafeNamesOnly) {
  const Environment out = scrubbed(ScrubMode::kStrict);
  EXPECT_FALSE(out.contains("GITHUB_TOKEN"));
  EXPECT_FALSE(out.contains("CFLAGS"));
  EXPECT_EQ(out.at("PATH"), "/opt/bin");
  EXPECT_EQ(out.at("LC_ALL"), "C");
}

TEST_F(Scrub, OffKeepsEverything) {
  const Environment out = scrubbed(ScrubMode::kOff);
  EXPECT_EQ(out.at("GITHUB_TOKEN"), "secret");
  EXPECT_EQ(out.at("LD_PRELOAD"), "x.so");
}

TEST_F(Scrub, SetsWhatKeepsProgramsFromAsking) {
  const Environment out = scrubbed(ScrubMode::kDefault);
  for (const auto& [name, value] : Environment{{"CI", "1"},
                                               {"DEBIAN_FRONTEND", "noninteractive"},
                                               {"GIT_TERMINAL_PROMPT", "0"},
                                               {"EDITOR", "false"},
                                               {"NO_COLOR", "1"},
                                               {"PIP_NO_INPUT", "1"}}) {
    EXPECT_EQ(out.at(name), value) << name;
  }
}

TEST_F(Scrub, LeavesProgramsFreeToAskWhereSomebodyAnswers) {
  const Environment out = make_environment(policy_, inherited_, "ann", true);
  for (const char* name : {"CI", "DEBIAN_FRONTEND", "GIT_PAGER", "EDITOR", "NO_COLOR"}) {
    EXPECT_FALSE(out.contains(name)) << name;
  }
  EXPECT_EQ(out.at("PAGER"), "less");
}

TEST_F(Scrub, LeavesTheCallersOwnPagerAndEditorWhereTheyComeThrough) {
  inherited_["EDITOR"] = "ed";
  EXPECT_EQ(scrubbed(ScrubMode::kDefault).at("PAGER"), "less");
  EXPECT_EQ(scrubbed(ScrubMode::kDefault).at("EDITOR"), "ed");
  EXPECT_EQ(scrubbed(ScrubMode::kStrict).at("PAGER"), "cat");
}

// Else git would take the one that it looks at first.
TEST_F(Scrub, LeavesAllOfOneKindToWhoeverHasOneOfThem) {
  const auto seen = [&](std::initializer_list<const char*> names) {
    const Environment out = scrubbed(ScrubMode::kDefault);
    std::string text;
    for (const char* name : names) text += out.contains(name) ? "<" + out.at(name) + ">" : "-";
    return text;
  };
  EXPECT_EQ(seen({"PAGER", "GIT_PAGER"}), "<less>-");
  inherited_.erase("PAGER");
  EXPECT_EQ(seen({"PAGER", "GIT_PAGER"}), "<cat><cat>");
  policy_.run.environment.set = {{"GIT_PAGER", "more"}};
  EXPECT_EQ(seen({"PAGER", "GIT_PAGER"}), "-<more>");

  EXPECT_TRUE(seen({"EDITOR", "VISUAL", "GIT_EDITOR"}).starts_with("<false>-<f() { eval "));
  policy_.run.environment.set = {{"EDITOR", "ed"}};
  EXPECT_EQ(seen({"EDITOR", "VISUAL", "GIT_EDITOR"}), "<ed>--");
  policy_.run.environment.set.clear();
  inherited_["VISUAL"] = "vi";
  EXPECT_EQ(seen({"EDITOR", "VISUAL", "GIT_EDITOR"}), "-<vi>-");
  policy_.run.environment.scrub = ScrubMode::kStrict;
  EXPECT_EQ(scrubbed(ScrubMode::kStrict).at("EDITOR"), "false");
  policy_.run.environment.pass = {"VISUAL"};
  EXPECT_FALSE(scrubbed(ScrubMode::kStrict).contains("EDITOR"));
}

TEST_F(Scrub, PassesWhatTheOperatorNamesAndIgnoresWhatIsNotSet) {
  policy_.run.environment.pass = {"GITHUB_TOKEN", "NOT_SET"};
  const Environment out = scrubbed(ScrubMode::kStrict);
  EXPECT_EQ(out.at("GITHUB_TOKEN"), "secret");
  EXPECT_FALSE(out.contains("NOT_SET"));
}

TEST_F(Scrub, LetsTheOperatorsSetWinOverEverything) {
  policy_.run.environment.set = {{"PATH", "/set"}, {"CI", "0"}, {"LD_LIBRARY_PATH", "/libs"}};
  const Environment out = scrubbed(ScrubMode::kDefault);
  EXPECT_EQ(out.at("PATH"), "/set");
  EXPECT_EQ(out.at("CI"), "0");
  EXPECT_EQ(out.at("LD_LIBRARY_PATH"), "/libs");
}

TEST_F(Scrub, GivesAPathWhereTheCallerHasNoneAndNoHomeWhereThePolicyHasNone) {
  inherited_.erase("PATH");
  policy_.sandbox.home.clear();
  const Environment out = scrubbed(ScrubMode::kDefault);
  EXPECT_NE(out.at("PATH").find("/usr/bin"), std::string::npos);
  EXPECT_FALSE(out.contains("HOME"));
}

}  // namespace
}  // namespace sbx
