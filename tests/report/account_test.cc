// SPDX-License-Identifier: Apache-2.0
// Tests of report/account: what a person reads, word for word, a case each.
#include "report/account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace sbx {
namespace {

Outcome ended(RunStatus status, double ms = 1234) {
  Outcome outcome;
  outcome.status = status;
  outcome.duration_ms = ms;
  return outcome;
}

Outcome exited(int code) {
  Outcome outcome = ended(RunStatus::kExited);
  outcome.exit_code = code;
  outcome.exit_status = code;
  return outcome;
}

Outcome over(Limit limit) {
  Outcome outcome = ended(RunStatus::kLimit);
  outcome.limit = limit;
  return outcome;
}

Outcome waiting() {
  Outcome outcome = ended(RunStatus::kNeedsApproval);
  outcome.approval.emplace();
  outcome.approval->digest = "0123abcd";
  Finding finding;
  finding.reason = "commits on the remote are lost";
  outcome.approval->rules = {finding};
  finding.reason = "removes what lies outside";
  finding.target = "/srv/x";
  outcome.approval->rules.push_back(finding);
  outcome.error = Error{ErrorCode::kNeedsApproval, "a person has to decide", "rule", "--approve"};
  outcome.exit_status = 3;
  return outcome;
}

std::string line(const Outcome& outcome) { return account_text(outcome, false); }

TEST(Account, AdvisesNothingThatAManagedFileHolds) {
  Outcome late = ended(RunStatus::kTimedOut);
  late.sandbox.warnings = {"limits.memory_mb lowered by /etc/m"};
  EXPECT_NE(end_sentence(late).find("--timeout TIME"), std::string::npos);
  late.sandbox.warnings.emplace_back("limits.timeout_ms lowered by /etc/t");
  EXPECT_EQ(end_sentence(late), "timed out after 1.2 s; /etc/t gives no more");
  Outcome full = over(Limit::kMemory);
  full.sandbox.warnings = late.sandbox.warnings;
  EXPECT_EQ(end_sentence(full), "ran out of memory after 1.2 s; /etc/m gives no more");
}

TEST(Account, SaysHowItEnded) {
  EXPECT_EQ(line(exited(0)), "¶ sbx-run: exited with 0 after 1.2 s\n");
  EXPECT_EQ(line(exited(3)), "¶ sbx-run: exited with 3 after 1.2 s\n");
  Outcome signaled = ended(RunStatus::kSignaled, 3.4);
  signaled.signal = SIGSEGV;
  EXPECT_EQ(line(signaled), "¶ sbx-run: ended by SIGSEGV after 3 ms\n");
  EXPECT_EQ(
      line(ended(RunStatus::kTimedOut, 125'000)),
      "¶ sbx-run: timed out after 2 min 5 s; --timeout TIME gives it more, --timeout none all "
      "it takes\n");
  Outcome cancelled = ended(RunStatus::kCancelled);
  EXPECT_EQ(line(cancelled), "¶ sbx-run: cancelled after 1.2 s\n");
  cancelled.exit_status = 130;
  EXPECT_EQ(line(cancelled), "¶ sbx-run: interrupted after 1.2 s\n");
  cancelled.exit_status = 129;
  EXPECT_EQ(line(cancelled), "¶ sbx-run: told to end by SIGHUP after 1.2 s\n");
  cancelled.error = Error{ErrorCode::kCancelled, "its owner has ended", "", ""};
  EXPECT_EQ(line(cancelled), "¶ sbx-run: cancelled: its owner has ended\n");
  EXPECT_EQ(line(ended(RunStatus::kKilled)), "¶ sbx-run: killed from outside after 1.2 s\n");
}

TEST(Account, NamesALimitAndItsFlag) {
  EXPECT_EQ(line(over(Limit::kMemory)),
            "¶ sbx-run: ran out of memory after 1.2 s; --memory SIZE gives more\n");
  EXPECT_EQ(line(over(Limit::kPids)),
            "¶ sbx-run: ran out of processes after 1.2 s; --pids COUNT gives more\n");
  EXPECT_EQ(line(over(Limit::kCpu)),
            "¶ sbx-run: ran out of CPU time after 1.2 s; --cpu-time TIME gives more\n");
  EXPECT_EQ(line(over(Limit::kFile)),
            "¶ sbx-run: a file grew too large after 1.2 s; --file-size SIZE gives more\n");
  EXPECT_EQ(line(over(Limit::kTmp)),
            "¶ sbx-run: the private /tmp and home are full after 1.2 s; --tmp-size SIZE gives "
            "more\n");
  EXPECT_EQ(
      line(over(Limit::kLayer)),
      "¶ sbx-run: the layer is full after 1.2 s; limits.layer_mb of the profile gives more\n");
  Outcome met = exited(0);
  met.limit = Limit::kPids;
  EXPECT_EQ(line(met),
            "¶ sbx-run: exited with 0 after 1.2 s\n"
            "¶ limit: ran out of processes; --pids COUNT gives more\n");
}

TEST(Account, SaysFirstWhatHappened) {
  Outcome outcome = exited(1);
  for (int i = 0; i < 30; ++i) {
    outcome.denials.push_back({Refuser::kMount, "open", "/x" + std::to_string(i), 1, "p", ""});
  }
  outcome.denials.push_back({Refuser::kMount, "protected_created", "/w/.git/hooks", 1, "p", ""});
  const std::string said = line(outcome);
  EXPECT_NE(said.find("¶ noticed: protected created /w/.git/hooks\n¶ refused: open /x0\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("¶ and: 11 more refusals; --json lists all\n"), std::string::npos) << said;
  EXPECT_TRUE(exec_account(outcome).starts_with("sbx-run: noticed: protected created"));
}

TEST(Account, HasNoMarkOfOursWithinALine) {
  Outcome outcome = exited(1);
  outcome.denials.push_back({Refuser::kMount, "open", "/x  ¶ sbx-run: all is well", 1, "p", ""});
  const std::string said = line(outcome);
  EXPECT_NE(said.find("¶ refused: open /x  \\xc2\\xb6 sbx-run: all is well\n"), std::string::npos)
      << said;
}

TEST(Account, AsksForApproval) {
  EXPECT_EQ(line(waiting()),
            "¶ sbx-run: waits for approval: commits on the remote are lost, removes what lies "
            "outside: /srv/x; run it once with --approve 0123abcd\n");
  Outcome again = waiting();
  again.approval->unused = "the approval is not used: there is no room (make some)";
  EXPECT_NE(line(again).find("/srv/x; the approval is not used: there is no room (make some); run"),
            std::string::npos);
}

TEST(Account, SaysWhyNothingRan) {
  Outcome denied = ended(RunStatus::kDenied);
  denied.error = Error{ErrorCode::kDenied, "mounts a file system", "deny.mount", "use a root"};
  EXPECT_EQ(line(denied), "¶ sbx-run: denied: mounts a file system [deny.mount] (use a root)\n");
  Outcome failed = ended(RunStatus::kError);
  failed.error = Error{ErrorCode::kNotFound, "no such program: x", "execve", ""};
  EXPECT_EQ(line(failed), "¶ sbx-run: not_found: no such program: x [execve]\n");
}

TEST(Account, NamesTheFlagThatWouldAllowIt) {
  const auto sentence = [](const char* operation, const char* target, const char* grant) {
    return refusal_sentence({Refuser::kMount, operation, target, 1, "p", grant});
  };
  EXPECT_EQ(sentence("connect", "pypi.org:443", "network.allow += [\"pypi.org:443\"]"),
            "connect to pypi.org:443; allow it with --allow-host pypi.org:443");
  EXPECT_EQ(sentence("connect", "1.2.3.4:80",
                     "network.mode = \"allowlist\", network.allow += [\"1.2.3.4:80\"]"),
            "connect to 1.2.3.4:80; allow it with --allow-host 1.2.3.4:80");
  EXPECT_EQ(sentence("connect", "[::1]:5432", "network.host_ports += [5432]"),
            "connect to [::1]:5432; allow it with --host-port 5432");
  EXPECT_EQ(sentence("connect", "a.org:443", "network.allow += [\"a.org\", \"*.b.org\"]"),
            "connect to a.org:443; allow it with --allow-host a.org --allow-host '*.b.org'");
  EXPECT_EQ(sentence("dns", "pypi.org", "network.allow += [\"pypi.org\"]"),
            "look up pypi.org; allow it with --allow-host pypi.org");
  EXPECT_EQ(sentence("request", "", "network.mode = \"outbound\""),
            "request; allow it with --net outbound");
  EXPECT_EQ(sentence("open", "/srv/a",
                     "filesystem.roots += [{\"path\": \"/srv/a\", \"access\": \"ro\"}]"),
            "open /srv/a; allow it with --ro /srv/a");
  EXPECT_EQ(sentence("open", "/s/a b",
                     "filesystem.roots += [{\"path\": \"/s/a b\", \"access\": \"rw\"}, {\"path\": "
                     "\"/t\", \"access\": \"rw\"}]"),
            "open /s/a b; allow it with --rw '/s/a b' --rw /t");
  EXPECT_EQ(
      sentence("open", "/a\"", "filesystem.roots += [{\"path\": \"/a\\\"\", \"access\": \"ro\"}]"),
      "open /a\"; allow it with filesystem.roots += [{\"path\": \"/a\\\"\", \"access\": \"ro\"}] "
      "in "
      "the profile");
  EXPECT_EQ(sentence("mount", "", "seccomp.allow += [\"mount\"]"),
            "mount; allow it with seccomp.allow += [\"mount\"] in the profile");
  EXPECT_EQ(sentence("connect", "abstract Unix socket", ""), "connect to abstract Unix socket");
}

TEST(Account, HasASentenceForEachKindOfRefusal) {
  const struct {
    Denial denial;
    const char* said;
  } rows[] = {
      {{Refuser::kSeccomp, "unshare", "", 2, "x", "seccomp.allow += [\"unshare\"]"},
       "refused: unshare; allow it with seccomp.allow += [\"unshare\"] in the profile (2 times)"},
      {{Refuser::kLandlock, "write", "/usr/x", 1, "",
        "filesystem.roots += [{\"path\": \"/usr/x\", \"access\": \"rw\"}]"},
       "refused: write /usr/x; allow it with --rw /usr/x"},
      {{Refuser::kMount, "exec", "/o/bin/x", 1, "",
        "filesystem.roots += [{\"path\": \"/o/bin\", \"access\": \"ro\"}]"},
       "refused: exec /o/bin/x; allow it with --ro /o/bin"},
      {{Refuser::kMount, "exec", "/h/.cargo/bin/x", 1, "", "--with rust"},
       "refused: exec /h/.cargo/bin/x; allow it with --with rust"},
      {{Refuser::kMount, "open", "/dev/kvm", 1, "", "filesystem.devices += [\"/dev/kvm\"]"},
       "refused: open /dev/kvm; allow it with filesystem.devices += [\"/dev/kvm\"] in the profile"},
      {{Refuser::kMount, "write", "/tmp", 1, "", "limits.tmp_mb = 512"},
       "refused: write /tmp; allow it with --tmp-size 512M"},
      {{Refuser::kMount, "protected_created", "/w/.git/hooks", 1, "",
        "remove it from filesystem.protect"},
       "noticed: protected created /w/.git/hooks; to let it pass, remove it from "
       "filesystem.protect"},
      {{Refuser::kMount, "git_include", "/o/x", 1, "git",
        "filesystem.roots += [{\"path\": \"/o/x\", \"access\": \"ro\"}]"},
       "noticed: git include /o/x; allow it with --ro /o/x"},
      {{Refuser::kNetwork, "connect", "/run/s", 1, "x", "network.unix_sockets += [\"/run/s\"]"},
       "refused: connect to /run/s; allow it with network.unix_sockets += [\"/run/s\"] in the "
       "profile"},
      {{Refuser::kNetwork, "http", "POST https://a/b", 1, "x",
        "network.http += {\"host\": \"a:443\", \"methods\": [\"POST\"]}"},
       "refused: http POST https://a/b; allow it with network.http += {\"host\": \"a:443\", "
       "\"methods\": [\"POST\"]} in the profile"},
      {{Refuser::kNetwork, "dns", "a.example (10.0.0.1)", 1, "x",
        "network.allow += [\"10.0.0.1\"]"},
       "refused: look up a.example (10.0.0.1); allow it with --allow-host 10.0.0.1"},
      {{Refuser::kCommand, "curl", "", 1, "curl", "commands.allow += [\"curl\"]"},
       "refused: curl; allow it with commands.allow += [\"curl\"] in the profile"},
      {{Refuser::kCommand, "sudo", "", 1, "sudo", ""}, "refused: sudo"},
      {{Refuser::kMount, "hidden_appeared", "/w/.env", 1, "", ""},
       "noticed: hidden appeared /w/.env"},
      {{Refuser::kMount, "mask_restored", "/w/.env", 1, "", ""}, "noticed: mask restored /w/.env"},
  };
  for (const auto& row : rows) {
    Outcome outcome = exited(1);
    outcome.denials = {row.denial};
    EXPECT_EQ(line(outcome),
              "¶ sbx-run: exited with 1 after 1.2 s\n¶ " + std::string(row.said) + "\n");
    EXPECT_EQ(exec_account(outcome), "sbx-run: " + std::string(row.said) + "\n");
  }
}

TEST(Account, SaysThreeDirectoriesOfPathAndHowManyMore) {
  Outcome outcome = exited(1);
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    outcome.sandbox.warnings.push_back("PATH: /" + std::string(name));
  }
  EXPECT_EQ(line(outcome),
            "¶ sbx-run: exited with 1 after 1.2 s\n¶ warning: PATH: /a\n¶ warning: PATH: /b\n"
            "¶ warning: PATH: /c\n¶ and: 2 more directories of PATH; --json lists all\n");
  outcome.exit_code = 0;
  EXPECT_EQ(line(outcome), "¶ sbx-run: exited with 0 after 1.2 s\n");
}

TEST(Account, ListsWhatWasRefusedIsMissingAndShouldBeKnown) {
  Outcome outcome = exited(0);
  outcome.denials = {
      {Refuser::kNetwork, "connect", "a:443", 3, "curl", "network.allow += [\"a:443\"]"},
      {Refuser::kMount, "protected_created", "/w/.git/hooks/x", 1, "", ""}};
  outcome.sandbox.degraded = {{"cgroup", "EPERM: Operation not permitted"}};
  outcome.sandbox.warnings = {"something to know"};
  outcome.redactions = {2, {"github-token"}};
  outcome.changes = std::vector<Change>{Change{"/w/a", "created"}};
  EXPECT_EQ(line(outcome),
            "¶ sbx-run: exited with 0 after 1.2 s\n"
            "¶ noticed: protected created /w/.git/hooks/x\n"
            "¶ refused: connect to a:443; allow it with --allow-host a:443 (3 times)\n"
            "¶ degraded: cgroup: EPERM: Operation not permitted\n"
            "¶ warning: something to know\n"
            "¶ redacted: 2 in the output: github-token\n"
            "¶ kept apart: 1 changes; the files themselves are as they were\n"
            "¶ created: /w/a\n");
}

TEST(Account, IsBoundedAndStaysInItsLines) {
  Outcome outcome = exited(1);
  for (int i = 0; i < 300; ++i) {
    outcome.denials.push_back(
        {Refuser::kMount, "open", "/x\n¶ fake\x1b[2J" + std::to_string(i), 1, "", ""});
  }
  const std::string text = line(outcome);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 22);
  EXPECT_TRUE(text.ends_with("¶ and: 280 more refusals; --json lists all\n")) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Account, HasColoursWhereTheyAreWanted) {
  EXPECT_EQ(account_text(exited(0), true),
            "¶ \x1b[1;32msbx-run\x1b[0m: exited with 0 after 1.2 s\n");
  EXPECT_NE(account_text(exited(1), true).find("\x1b[1;31m"), std::string::npos);
}

TEST(ExecAccount, SaysNothingOfAnOrdinaryEnd) {
  EXPECT_EQ(exec_account(exited(0)), "");
  EXPECT_EQ(exec_account(exited(3)), "");
  Outcome well = exited(0);
  well.denials = {{Refuser::kSeccomp, "mount", "", 1, "x", ""}};
  EXPECT_EQ(exec_account(well), "");
}

TEST(ExecAccount, SaysInOneLineWhatEndedIt) {
  EXPECT_EQ(exec_account(over(Limit::kMemory)),
            "sbx-run: limit: ran out of memory after 1.2 s; --memory SIZE gives more\n");
  EXPECT_EQ(exec_account(ended(RunStatus::kTimedOut)),
            "sbx-run: timed_out: timed out after 1.2 s; --timeout TIME gives it more, --timeout "
            "none all it "
            "takes\n");
  EXPECT_EQ(exec_account(waiting()), "");  // its error has said so
  Outcome cancelled = ended(RunStatus::kCancelled);
  cancelled.exit_status = 143;
  EXPECT_EQ(exec_account(cancelled), "sbx-run: cancelled: told to end by SIGTERM after 1.2 s\n");
  EXPECT_EQ(exec_account(ended(RunStatus::kKilled)),
            "sbx-run: killed: killed from outside after 1.2 s\n");
  for (const Limit limit : {Limit::kPids, Limit::kCpu, Limit::kFile, Limit::kTmp, Limit::kLayer}) {
    std::string said = line(over(limit));
    const std::string mark = "¶ sbx-run: ";
    EXPECT_EQ(exec_account(over(limit)), said.replace(0, mark.size(), "sbx-run: limit: "));
  }
}

TEST(ExecAccount, NamesWhatWasRefusedToACommandThatFailed) {
  Outcome outcome = exited(1);
  outcome.denials = {
      {Refuser::kNetwork, "connect", "a:443", 1, "curl", "network.allow += [\"a:443\"]"}};
  EXPECT_EQ(exec_account(outcome),
            "sbx-run: refused: connect to a:443; allow it with --allow-host a:443\n");
}

}  // namespace
}  // namespace sbx
