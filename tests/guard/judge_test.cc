// SPDX-License-Identifier: Apache-2.0
// What a judgement says beside its verdict: rule, words at fault, grant, and what is unknown.
#include <gtest/gtest.h>

#include "../../fuzz/guard/properties.h"
#include "guard/names.h"
#include "guard/sample_policy.h"
#include "support/corpus.h"

namespace sbx::guard {
namespace {

TEST(Judge, DeniesTheBuiltInListInEveryProfile) {
  Policy policy = sample_policy();
  policy.sandbox.commands.ask.clear();
  for (const char* name : {"sudo", "su", "shutdown", "reboot", "halt", "poweroff", "chroot",
                           "mount", "umount", "mkfs", "mkfs.ext4", "mkfs.xfs"}) {
    const std::string command = std::string("echo a; ") + name + " x";
    const Judgement judgement = judge_text(policy, command);
    ASSERT_EQ(judgement.verdict, Verdict::kDeny) << name;
    const Finding& finding = judgement.findings.front();
    EXPECT_EQ(finding.id, "denied-command");
    EXPECT_EQ(finding.program, name);
    EXPECT_EQ(command.substr(finding.span.begin, finding.span.end - finding.span.begin), name);
    EXPECT_EQ(finding.grant, "");
  }
  EXPECT_EQ(judge_text(policy, "echo \"don't sudo\"").verdict, Verdict::kAllow);
}

TEST(Judge, NamesTheSettingThatDenies) {
  Policy policy = sample_policy();
  policy.sandbox.commands.deny = {"nc", "python*"};
  const Judgement judgement = judge_text(policy, "python3 -c 1");
  ASSERT_EQ(judgement.verdict, Verdict::kDeny);
  EXPECT_EQ(judgement.findings.front().grant, "commands.deny -= \"python*\"");
  EXPECT_EQ(judge_text(policy, "nc -l 1").verdict, Verdict::kDeny);
  EXPECT_EQ(judge_text(policy, "ncat").verdict, Verdict::kAllow);
}

TEST(Judge, ListsWhatIsAllowed) {
  Policy policy = sample_policy();
  policy.sandbox.commands.allow = std::vector<std::string>{"cat", "ls"};
  const Judgement judgement = judge_text(policy, "perl -e 1");
  ASSERT_EQ(judgement.verdict, Verdict::kDeny);
  EXPECT_NE(judgement.findings.front().reason.find("cat, ls"), std::string::npos);
  EXPECT_EQ(judgement.findings.front().grant, "commands.allow += \"perl\"");
  // A path names a file, whatever the shell has of that name.
  EXPECT_EQ(judge_text(policy, "echo hi; test -e a").verdict, Verdict::kAllow);
  for (const char* command : {"./echo hi", "/tmp/test -e a"}) {
    EXPECT_EQ(judge_text(policy, command).verdict, Verdict::kDeny) << command;
  }
}

// What a request sets is as untrusted as its text.
TEST(Judge, TakesTheRequestsEnvironmentForAssigned) {
  Policy listed = sample_policy();
  listed.sandbox.commands.allow = std::vector<std::string>{"echo", "ls"};
  const auto verdict = [](const Policy& policy, const char* command,
                          std::map<std::string, std::string> env) {
    Request request;
    request.command = command;
    request.env = std::move(env);
    return judge(policy, request).value().verdict;
  };
  for (const char* command :
       {"echo $((x))", "let x", "declare -i y=x", "echo ${!x}", "[[ x -eq 1 ]]", "echo ${x@P}"}) {
    EXPECT_EQ(verdict(listed, command, {{"x", "a[$(id)]"}}), Verdict::kDeny) << command;
    EXPECT_EQ(verdict(listed, command, {{"x", "1"}}), Verdict::kAllow) << command;
  }
  EXPECT_EQ(verdict(listed, "set -x; ls", {{"PS4", "$(id)"}}), Verdict::kDeny);
  EXPECT_EQ(verdict(listed, "$x", {{"x", "id"}}), Verdict::kDeny);
  EXPECT_EQ(verdict(listed, "$x", {{"x", "ls"}}), Verdict::kAllow);

  Policy policy = sample_policy();
  for (const char* name : {"USER", "LOGNAME", "HOSTNAME", "TMPDIR", "x"}) {
    const std::string command = std::string("rm -rf /tmp/q-$") + name + "; rm -rf $" + name + "/q";
    EXPECT_EQ(verdict(policy, command.c_str(), {{name, "/../../data/x"}}), Verdict::kAsk) << name;
    policy.run.environment.set = {{name, "/../../data/x"}};
    if (std::string_view(name) != "x") {
      EXPECT_EQ(verdict(policy, command.c_str(), {}), Verdict::kAsk) << name;
    }
    policy.run.environment.set.clear();
  }
  EXPECT_EQ(verdict(policy, "rm -rf $TMPDIR/data/x", {{"TMPDIR", ""}}), Verdict::kAsk);
  EXPECT_EQ(
      verdict(policy, "rm -rf $TMPDIR/x /tmp/q-$USER", {{"TMPDIR", "/tmp/t"}, {"USER", "me"}}),
      Verdict::kAllow);
}

TEST(Judge, AllowsNetworkCommandsOnlyWhereTheNetworkIsOn) {
  Policy policy = sample_policy();
  policy.sandbox.commands.allow = std::vector<std::string>{"cat"};
  policy.sandbox.commands.network_allow = {"curl"};
  EXPECT_EQ(judge_text(policy, "curl x").findings.front().id, "network-command");
  policy.sandbox.network.mode = NetworkMode::kOutbound;
  EXPECT_EQ(judge_text(policy, "curl x").verdict, Verdict::kAllow);
}

RefusedPath written(std::string path, std::string place = "", std::string protect = "") {
  return {std::move(path), std::move(place), std::move(protect), false, true};
}

TEST(Judge, TellsWhatTheTextNamesAndThePolicyHasNot) {
  const Policy policy = sample_policy();
  const auto named = [&](const char* command) { return judge_text(policy, command).refused_paths; };
  const std::vector<RefusedPath> none;
  EXPECT_EQ(named("cat /srv/a; echo x > /etc/foo"),
            (std::vector<RefusedPath>{{"/srv/a", ""}, written("/etc/foo")}));
  EXPECT_EQ(named("cat < ../../../srv/a; sed -i s/a/b/ /usr/b"),
            (std::vector<RefusedPath>{{"/srv/a", ""}, written("/usr/b")}));
  EXPECT_EQ(named("cat /tmp/a ~/b"),
            (std::vector<RefusedPath>{{"/tmp/a", "/tmp"}, {"/home/me/b", "/home/me"}}));
  EXPECT_EQ(named("cat /etc/hosts; cat < /etc/a/b; ls /etc"),  // not all of it is shown
            (std::vector<RefusedPath>{{"/etc/hosts", "/etc"}, {"/etc/a/b", "/etc"}}));
  EXPECT_EQ(named("cat src/a /usr/lib/x /data/y > out; echo x > /tmp/a; rm /data/z; cp "
                  "/usr/a ."),
            none);
  EXPECT_EQ(named("ls / /home /dev; cd /; find / -name x"), none);  // the way to a root
  EXPECT_EQ(named("echo x > /dev/null; cat \"$1\" * src/* /*; rm src/*.o"), none);
  const std::vector<RefusedPath> holder = {{"/srv", ""}};
  for (const char* open : {"cat /srv/*", "cat /srv/[a]/b", "for i in /srv/*; do cat $i; done"}) {
    EXPECT_EQ(named(open), holder) << open;
  }
  EXPECT_EQ(named("touch /srv/a*"), (std::vector<RefusedPath>{written("/srv")}));
  const std::vector<RefusedPath> a = {{"/srv/a", ""}};
  for (const char* within :
       {"/srv/a", "time /srv/a", "dd if=/srv/a", "grep -f/srv/a", "tar -xf/srv/a",
        "grep --file=/srv/a x", "A=/srv/a make", "curl file:///srv/a",
        "python3 -c \"open('/srv/a')\"", "x @/srv/a,b"}) {
    EXPECT_EQ(named(within), a) << within;
  }
  EXPECT_EQ(named("curl http://srv/a -x//srv b/srv/a \"$x/srv/a\" --y=b/srv s/srv/a/"), none);
  for (const char* made :
       {"echo x > /new", "mkdir /new", "touch /new", "cp a /new", "a | tee /new"}) {
    EXPECT_EQ(named(made), (std::vector<RefusedPath>{{"/new", "", "", true, true}})) << made;
  }
  EXPECT_EQ(named("awk /new/ a; touch /tmp"), (std::vector<RefusedPath>{{"/new", ""}}));
  EXPECT_EQ(named("cp a /usr/bin/a"), (std::vector<RefusedPath>{written("/usr/bin/a")}));
}

TEST(Judge, TellsWhatIsWrittenWhereTheSandboxHasItsOwn) {
  const Policy policy = sample_policy();
  const auto named = [&](const char* command) { return judge_text(policy, command).refused_paths; };
  const std::vector<RefusedPath> in_job = {written("/tmp/job/a", "/tmp")};
  for (const char* command :
       {"echo x >> /tmp/job/a", "mkdir /tmp/job/a", "rm /tmp/job/a", "sed -i s/a/b/ /tmp/job/a",
        "touch /tmp/job/a", "cp src/a /tmp/job/a", "chmod 600 /tmp/job/a", "install x /tmp/job/a",
        "mkdir /tmp/jobs; touch /tmp/job/a", "mkdir -p /tmp/job/b; touch /tmp/job/a"}) {
    const bool is_made = std::string_view(command).starts_with("mkdir -p");
    EXPECT_EQ(named(command), is_made ? std::vector<RefusedPath>() : in_job) << command;
  }
  EXPECT_EQ(
      named("mkdir /tmp/job/a; touch /tmp/job/a/b"),
      (std::vector<RefusedPath>{written("/tmp/job/a", "/tmp"), written("/tmp/job/a/b", "/tmp")}));
  EXPECT_EQ(named("rm /tmp/a; chmod 600 ~/b; mv /tmp/c /tmp/d"),
            (std::vector<RefusedPath>{written("/tmp/a", "/tmp"), written("/home/me/b", "/home/me"),
                                      written("/tmp/c", "/tmp")}));
  const std::vector<RefusedPath> none;
  EXPECT_EQ(named("echo x > /tmp/a; mkdir /tmp/b; cp src/a /tmp/c; touch ~/d /tmp"), none);
  EXPECT_EQ(named("mkdir -p /tmp/job/a; rm -rf /tmp/b; install -D x /tmp/c/d"), none);
  EXPECT_EQ(named("mkdir /tmp/job; echo x > /tmp/job/a; rm /tmp/job/a"), none);
}

TEST(Judge, TellsWhatIsProtectedOrHiddenInWhatMayBeWritten) {
  Policy policy = sample_policy();
  auto& filesystem = policy.sandbox.filesystem;
  filesystem.protect = {{".envrc", Missing::kReport, ""},
                        {".git/hooks", Missing::kReport, ""},
                        {".must", Missing::kRefuse, ""},
                        {"**/kept", Missing::kReport, ""}};
  filesystem.roots.push_back({"/home/me/project/secret", Access::kNone, false, ""});
  const auto named = [&](const char* command) { return judge_text(policy, command).refused_paths; };
  const std::string work = "/home/me/project";
  const auto held = [&](const std::string& path, const std::string& entry) {
    return std::vector<RefusedPath>{written(work + "/" + path, work, work + "/" + entry)};
  };
  EXPECT_EQ(named("echo x > .envrc"), held(".envrc", ".envrc"));
  EXPECT_EQ(named("rm /home/me/project/.envrc"), held(".envrc", ".envrc"));
  EXPECT_EQ(named("sed -i s/a/b/ .envrc"), held(".envrc", ".envrc"));
  EXPECT_EQ(named("cp x .git/hooks/pre-commit"), held(".git/hooks/pre-commit", ".git/hooks"));
  EXPECT_EQ(named("mv .git x"), held(".git", ".git/hooks"));
  EXPECT_EQ(named("rm a/b/kept/x"), held("a/b/kept/x", "a/b/kept"));
  EXPECT_EQ(named("rm kept"), held("kept", "kept"));
  EXPECT_EQ(named("touch .must"), (std::vector<RefusedPath>{written(work + "/.must")}));
  // What is missing of it is closed from its first part on.
  filesystem.protect.push_back({"far/deep/x", Missing::kRefuse, ""});
  for (const char* near : {"far", "far/deep", "far/other", "far/deep/y", "far/deep/x"})
    EXPECT_EQ(named((std::string("mkdir ") + near).c_str()),
              (std::vector<RefusedPath>{written(work + "/" + near)}));
  EXPECT_EQ(named("echo x > /data/.envrc"),
            (std::vector<RefusedPath>{written("/data/.envrc", "/data", "/data/.envrc")}));
  EXPECT_EQ(named("cat secret"), (std::vector<RefusedPath>{{work + "/secret", work}}));
  const std::vector<RefusedPath> none;
  EXPECT_EQ(named("cat .envrc .git/hooks/x; sed -n 1p .envrc; cp .envrc y; touch .git/x .envrc2 "
                  "farther; mv "
                  "a b; git add .envrc; cat far/x"),
            none);
}

TEST(Judge, NamesTheRootToAdd) {
  Policy policy = sample_policy();
  policy.sandbox.commands.confine_paths = true;
  const Judgement judgement = judge_text(policy, "cat /srv/a");
  ASSERT_EQ(judgement.verdict, Verdict::kDeny);
  const Finding& finding = judgement.findings.front();
  EXPECT_EQ(finding.target, "/srv/a");
  EXPECT_EQ(finding.grant, "filesystem.roots += [{\"path\": \"/srv/a\", \"access\": \"ro\"}]");
  EXPECT_NE(finding.reason.find("SBX_ALLOWED_ROOTS"), std::string::npos);
}

TEST(Judge, PutsTheStrongestFirst) {
  const Judgement judgement = judge_text(sample_policy(), "rm -rf /; sudo id");
  ASSERT_EQ(judgement.findings.size(), 2U);
  EXPECT_EQ(judgement.verdict, Verdict::kDeny);
  EXPECT_EQ(judgement.findings[0].id, "denied-command");
  EXPECT_EQ(judgement.findings[1].id, "destructive.rm-outside");
}

TEST(Judge, PointsAtThePathThatIsAtFault) {
  const std::string command = "rm -rf build /data/x dist";
  const Judgement judgement = judge_text(sample_policy(), command);
  ASSERT_EQ(judgement.findings.size(), 1U);
  const Span span = judgement.findings[0].span;
  EXPECT_EQ(command.substr(span.begin, span.end - span.begin), "/data/x");
  EXPECT_EQ(judgement.findings[0].target, "/data/x");
}

TEST(Judge, SaysWhatIsUnknown) {
  const Judgement judgement = judge_text(sample_policy(), "$(cat name) id");
  EXPECT_EQ(judgement.verdict, Verdict::kAllow);
  EXPECT_FALSE(judgement.unknown.empty());
}

TEST(Judge, SaysOfAFileThatIsReadInThatItIsUnknown) {
  for (const std::string text :
       {"source ./env", ". ./env", "cd x && . env a b", "for i in 1 2; do . ./env; done; make",
        "builtin source ./env", "f() { . ./env; }; f; f", "eval 'source ./env'"}) {
    const Judgement judgement = judge_text(sample_policy(), text);
    EXPECT_EQ(judgement.verdict, Verdict::kAllow) << text;
    ASSERT_EQ(judgement.unknown.size(), 1U) << text;
    EXPECT_EQ(judgement.unknown[0].what, "what is in a file that the shell reads in");
    EXPECT_FALSE(judgement.leaves_names_open) << text;
  }
  EXPECT_EQ(judge_text(sample_policy(), ". ./b; $x; . ./a").unknown.size(), 3U);
  EXPECT_TRUE(judge_text(sample_policy(), ". ./b; $x; . ./a").leaves_names_open);
  EXPECT_TRUE(judge_text(sample_policy(), ". \"$1\"").leaves_names_open);
  // What another shell runs is a program like any other; a text that is known is looked through.
  EXPECT_TRUE(judge_text(sample_policy(), "bash ./env; ./env; . <(echo ls)").unknown.empty());
}

TEST(Judge, HoldsAnUnknownNameAgainstAnAllowListOnlyWhereTheKernelDoesNot) {
  Policy policy = sample_policy();
  policy.sandbox.commands.allow = std::vector<std::string>{"echo"};
  EXPECT_EQ(judge_text(policy, "\"$1\" a").verdict, Verdict::kDeny);
  policy.sandbox.filesystem.base = Base::kTools;
  EXPECT_EQ(judge_text(policy, "\"$1\" a").verdict, Verdict::kAllow);
}

TEST(Judge, TakesWhatAnotherShellIsGivenForANumberToo) {
  Policy policy = sample_policy();
  policy.sandbox.commands.allow = std::vector<std::string>{"bash", "env", "xargs"};
  for (const char* command :
       {"bash -c 'echo $(($1))' x 'a[$(id)]'", "env 'x=a[$(id)]' bash -c 'echo $((x))'",
        "x='a[$(id)]' bash -c 'echo $((x))'", "xargs bash -c 'echo $(($1))' x < f"}) {
    const Judgement judgement = judge_text(policy, command);
    ASSERT_EQ(judgement.verdict, Verdict::kDeny) << command;
    EXPECT_EQ(judgement.findings.front().id, "command-not-known") << command;
  }
  for (const char* command : {"bash -c 'echo $(($1))' x 5", "env x=3 bash -c 'echo $((x))'",
                              "bash -c 'echo $((x + 1))'"}) {
    EXPECT_EQ(judge_text(policy, command).verdict, Verdict::kAllow) << command;
  }
}

TEST(Judge, ReadsArgumentsAsItReadsText) {
  const Policy policy = sample_policy();
  const auto verdict = [&](std::vector<std::string> argv) {
    Request request;
    request.argv = std::move(argv);
    return judge(policy, request).value().verdict;
  };
  EXPECT_EQ(verdict({"sudo", "id"}), Verdict::kDeny);
  EXPECT_EQ(verdict({"bash", "-c", "sudo id"}), Verdict::kDeny);
  EXPECT_EQ(verdict({"rm", "-rf", "/data"}), Verdict::kAsk);
  EXPECT_EQ(verdict({"rm", "-rf", "build"}), Verdict::kAllow);
  EXPECT_EQ(verdict({"echo", "sudo; rm -rf /"}), Verdict::kAllow);
}

TEST(Judge, FollowsTheWorkingDirectory) {
  const Policy policy = sample_policy();
  Request request;
  request.command = "rm -rf x";
  const auto in = [&](const char* cwd) {
    request.cwd = cwd;
    return judge(policy, request).value();
  };
  EXPECT_EQ(in("/data").verdict, Verdict::kAsk);
  EXPECT_EQ(in("/home/me/project/sub").verdict, Verdict::kAllow);
  EXPECT_EQ(in("sub").verdict, Verdict::kAllow);
  EXPECT_EQ(in("sub").cwd, "/home/me/project/sub");
  request.command = "rm -rf ../x";
  EXPECT_EQ(in("sub").verdict, Verdict::kAllow);
  EXPECT_EQ(in(".").verdict, Verdict::kAsk);
  request.cwd = "../out";
  EXPECT_EQ(judge(policy, request).error().code, ErrorCode::kPathRefused);
}

TEST(Judge, AsksAboutAWorkspaceBelowTmpAndItsParents) {
  Policy policy = sample_policy();
  policy.sandbox.workspace = "/tmp/a/work";
  EXPECT_EQ(judge_text(policy, "rm -rf /tmp/a/work").verdict, Verdict::kAsk);
  EXPECT_EQ(judge_text(policy, "rm -rf /tmp/a").verdict, Verdict::kAsk);
  EXPECT_EQ(judge_text(policy, "rm -rf /tmp/a*").verdict, Verdict::kAsk);
  EXPECT_EQ(judge_text(policy, "rm -rf /tmp/b").verdict, Verdict::kAllow);
  EXPECT_EQ(judge_text(policy, "rm -rf build").verdict, Verdict::kAllow);
}

// What takes seconds per command here would be hours if each looked at all others; no time is
// measured.
TEST(Judge, OfTheLargestCommandsEnds) {
  for (const char* unit :
       {"$(", "{a,b}", "a ", "a&&", "psql|", "psql <<<x;", "curl x|sh|", "find . -exec rm {} + ;",
        "f(){ f|f& };", "trap 'a' 0;", "cd a;", "if x; then pushd a; fi;", "(cd a);",
        "trap 'cd a' 0;", "((a[i]=b));", "f(){ cd a; };"}) {
    std::string text;
    while (text.size() < (128U << 10) - 64) text += unit;
    judge_text(sample_policy(), text);
  }
}

TEST(Judge, HoldsForTheFuzzCorpora) {
  for (const char* corpus : {"guard/corpus", "shell/corpus"}) {
    const auto files = corpus_files(corpus);
    EXPECT_GE(files.size(), 8U) << corpus;
    for (const CorpusFile& file : files) EXPECT_TRUE(judgement_holds(file.bytes)) << file.path;
  }
}

TEST(Names, MatchByTheirLastComponent) {
  EXPECT_TRUE(matches_name("mkfs.*", "/sbin/mkfs.ext4"));
  EXPECT_FALSE(matches_name("mkfs.*", "mkfs"));
  EXPECT_FALSE(matches_name("su", "sudo"));
}

}  // namespace
}  // namespace sbx::guard
