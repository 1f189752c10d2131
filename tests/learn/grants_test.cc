// SPDX-License-Identifier: Apache-2.0
// What a denial's grant does to a profile, and what none does.
#include "learn/grants.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "policy/policy.h"
#include "support/corpus.h"

namespace sbx::learn {
namespace {

Document added(std::string_view text, const char* to) {
  Document profile = Document::parse(to);
  add_grant(parse_grant(text).value(), profile);
  return profile;
}

TEST(Grant, IsAddedWhereTheListIs) {
  constexpr auto kRoot = R"(filesystem.roots += [{"path": "/srv/a", "access": "ro"}])";
  EXPECT_EQ(added(kRoot, "{}").dump(),
            R"({"filesystem":{"+roots":[{"path":"/srv/a","access":"ro"}]}})");
  EXPECT_EQ(added(kRoot, R"({"name":"x","filesystem":{"roots":[]}})").dump(),
            R"({"name":"x","filesystem":{"roots":[{"path":"/srv/a","access":"ro"}]}})");
  EXPECT_EQ(added("network.http += {\"host\": \"a.org:443\"}", "{}").dump(),
            R"({"network":{"+http":[{"host":"a.org:443"}]}})");
  EXPECT_EQ(added("network.mode = \"allowlist\"", "{}").dump(),
            R"({"network":{"mode":"allowlist"}})");
}

TEST(Grant, OfAHostMayComeWithItsMode) {
  EXPECT_EQ(added(R"(network.mode = "allowlist", network.allow += ["a.org:443"])", "{}").dump(),
            R"({"network":{"+allow":["a.org:443"]}})");
}

TEST(Never, IsAWholeTopLevelDomain) {
  for (const char* host : {"*.com", "*.com:443", "*.local"}) {
    const auto grant = parse_grant("network.allow += [\"" + std::string(host) + "\"]");
    ASSERT_TRUE(grant.ok());
    EXPECT_NE(never_granted(grant.value(), {}), "") << host;
  }
}

TEST(Grant, WidensAnEntryForTheSamePathAndNeverLowersOne) {
  constexpr auto kWrite = R"(filesystem.roots += [{"path": "/srv/a", "access": "rw"}])";
  constexpr auto kRead = R"(filesystem.roots += [{"path": "/srv/a", "access": "ro"}])";
  const Document written = added(kWrite, R"({"filesystem":{"+roots":[{"path":"/srv/a"}]}})");
  EXPECT_EQ(written.dump(), R"({"filesystem":{"+roots":[{"path":"/srv/a","access":"rw"}]}})");
  Document again = written;
  EXPECT_FALSE(add_grant(parse_grant(kRead).value(), again));
  EXPECT_EQ(again, written);
}

TEST(Grant, IsASettingAndNoAdvice) {
  for (const char* text :
       {"show it: it is hidden by --hide", R"(filesystem.roots: "access": "rw" for "/srv/a")", "",
        "filesystem.roots", "filesystem.roots += ", "filesystem.roots += [",
        "filesystem.base = \"host\"", "network.mode += [\"open\"]", "seccomp.mode = \"off\"",
        "commands.deny += []", "network.allow = []"}) {
    EXPECT_FALSE(parse_grant(text).ok()) << text;
  }
}

std::string why(const std::string& text) {
  Guarded guarded{{"/home/ann"}, {}, {}, {"/home/ann/p/own.json", "/home/ann/.local/state/sbx"}};
  guarded.secrets = secret_places(guarded.homes).value();
  guarded.secrets.push_back({"/srv/dot/aws", "credentials of a cloud"});
  return never_granted(parse_grant(text).value(), guarded);
}

TEST(Never, AreSecretsTheMachineAndWhatSteersLaterRuns) {
  for (const char* path : {"/",
                           "/home",
                           "/home/ann",
                           "${home}",
                           "/home/ann/.ssh",
                           "/home/ann/.ssh/id_rsa",
                           "${home}/.aws/credentials",
                           "/home/ann/.config",
                           "/etc/shadow",
                           "/etc",
                           "/proc/1",
                           "/dev/sda",
                           "/sys",
                           "/home/ann/p/.env",
                           "/home/ann/p/.env.local",
                           "relative",
                           "/home/ann/x/../.ssh",
                           "/srv/dot/aws/credentials",
                           "/srv/dot",
                           "/home/*/.ssh",
                           "/home/ann/.s*",
                           "/srv/**",
                           "/srv/a*b",
                           "/srv/x\\\\*/../../etc/shadow",
                           "${runtime}/x"}) {
    EXPECT_NE(
        why(R"(filesystem.roots += [{"path": ")" + std::string(path) + R"(", "access": "ro"}])"),
        "")
        << path;
  }
  for (const char* path :
       {"/usr/lib", "/etc/hosts", "/home/ann/p/own.json", "/home/ann/p", "/home/ann/.local",
        "/srv/a/.git/hooks", "/srv/a/.sbx", "/home/ann/.bashrc", "/home/ann/.config/git/config",
        "/opt/x", "/home/ann/.zlogout", "/home/ann/.cshrc", "/home/ann/.inputrc",
        "/home/ann/.local/bin/x", "/home/ann/.local/share/applications",
        "/home/ann/.config/sbx/profiles"}) {
    EXPECT_NE(
        why(R"(filesystem.roots += [{"path": ")" + std::string(path) + R"(", "access": "rw"}])"),
        "")
        << path;
  }
  for (const char* text :
       {"network.mode = \"open\"",
        "network.allow += [\"169.254.169.254:80\"]",
        "network.allow += [\"0.0.0.0/0:443\"]",
        "network.allow += [\"169.0.0.0/8:80\"]",
        "network.allow += [\"[fe80::1]:80\"]",
        "network.allow += [\"[fd00:ec2::254]:80\"]",
        "network.allow += [\"[fd00::/8]:80\"]",
        "network.allow += [\"100.64.0.0/10:80\"]",
        R"(network.http += [{"host": "169.254.169.254:80"}])",
        "seccomp.allow += [\"kexec_load\"]",
        "network.unix_sockets += [\"/run/docker.sock\"]",
        "network.unix_sockets += [\"/run/user/1000/bus\"]",
        "network.unix_sockets += [\"/run/docker.sock/\"]",
        "network.unix_sockets += [\"/run/containerd/containerd.sock.ttrpc\"]",
        "network.unix_sockets += [\"${ssh_agent}\"]",
        "network.unix_sockets += [\"/home/ann/.ssh\"]",
        "network.unix_sockets += [\"/run/*\"]",
        "network.unix_sockets += [\"${workspace}/docker.sock\"]",
        "network.unix_sockets += [\"/etc/shadow\"]",
        "filesystem.devices += [\"/dev/*\"]",
        "filesystem.devices += [\"/dev/s*\"]",
        "seccomp.allow += [\"acct\"]",
        "seccomp.allow += [\"nosuchcall\"]",
        "network.unix_sockets += [\"/tmp/ssh-x/agent.17\"]",
        "network.unix_sockets += [\"/run/user/1000/gnupg/S.gpg-agent\"]",
        "filesystem.devices += [\"/dev/sda1\"]",
        "filesystem.devices += [\"/dev/mem\"]",
        "filesystem.devices += [\"/dev/sg0\"]",
        "filesystem.devices += [\"/dev/block/8:0\"]",
        "filesystem.devices += [\"/dev/cpu/0/msr\"]",
        "filesystem.devices += [\"/dev/hidraw0\"]",
        "network.unix_sockets += [\"/run/containerd/s/1\"]",
        "network.unix_sockets += [\"/var/lib/incus/unix.socket\"]",
        "network.unix_sockets += [\"/run/user/1000/gcr/ssh\"]",
        "network.unix_sockets += [\"/run/systemd/io.systemd.Machine\"]",
        "filesystem.devices += [\"/dev/../dev/sda\"]",
        R"(filesystem.roots += [{"path": "${workspace}/a/.env", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "${workspace}/.git/hooks", "access": "rw"}])",
        R"(filesystem.roots += [{"path": "/srv/.env/x", "access": "ro"}])"}) {
    EXPECT_NE(why(text), "") << text;
  }
}

// What the profile's own roots make of the path: 0 nothing, 1 to be read, 2 to be written.
int shown(const Document& profile, const std::string& path) {
  int access = 0;
  std::size_t deepest = 0;
  for (const char* key : {"roots", "+roots"}) {
    if (!profile.contains("filesystem") || !profile["filesystem"].contains(key)) continue;
    for (const Document& root : profile["filesystem"][key]) {
      const auto at = root["path"].get<std::string>();
      if (!is_below(path, at) || at.size() < deepest) continue;
      deepest = at.size();
      const std::string how = root.value("access", "ro");
      access = how == "rw" ? 2 : how == "ro" ? 1 : 0;
    }
  }
  return access;
}

TEST(Grant, WidensNothingBeyondWhatItNamesAndIsTheSameTwice) {
  std::mt19937 random(3);
  const std::vector<std::string> paths = {"/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/ab"};
  const std::vector<std::string> accesses = {"none", "ro", "rw"};
  for (int round = 0; round < 3000; ++round) {
    Document profile = Document::object();
    std::set<std::string> used;
    for (auto i = random() % 4; i > 0; --i) {
      const std::string& at = paths[random() % paths.size()];
      if (!used.insert(at).second) continue;
      profile["filesystem"]["roots"].push_back(
          {{"path", at}, {"access", accesses[random() % accesses.size()]}});
    }
    const std::string& named = paths[random() % paths.size()];
    const std::string& access = accesses[1 + random() % 2];
    const std::string text =
        R"(filesystem.roots += [{"path": ")" + named + R"(", "access": ")" + access + R"("}])";
    Document after = profile;
    const bool is_changed = add_grant(parse_grant(text).value(), after);
    EXPECT_EQ(is_changed, after != profile) << text << profile;
    for (const std::string& path : paths) {
      const int most = is_below(path, named) ? (access == "rw" ? 2 : 1) : 0;
      EXPECT_LE(shown(after, path), std::max(shown(profile, path), most)) << text << profile;
    }
    EXPECT_TRUE(shown(after, named) >= (access == "rw" ? 2 : 1)) << text << profile;
    Document again = after;
    EXPECT_FALSE(add_grant(parse_grant(text).value(), again)) << text << profile;
    EXPECT_EQ(again, after);
  }
}

TEST(Never, IsNothingOrdinary) {
  for (const char* text :
       {R"(filesystem.roots += [{"path": "/srv/data", "access": "rw"}])",
        R"(filesystem.roots += [{"path": "/home/ann/.cargo/bin", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "/home/ann/.bashrc", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "/srv/a\\*b/c", "access": "ro"}])",
        R"(network.unix_sockets += ["/run/user/1000/wayland-0"])",
        R"(filesystem.roots += [{"path": "/usr/local/share", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "${workspace}/x", "access": "rw"}])",
        R"(network.allow += ["example.org:443"])", R"(network.host_ports += [8080])",
        R"(seccomp.allow += ["perf_event_open"])", R"(filesystem.devices += ["/dev/kvm"])",
        R"(network.allow += ["10.1.0.0/16:22"])"}) {
    EXPECT_EQ(why(text), "") << text;
  }
}

TEST(Difference, ShowsTheLinesInTheMiddle) {
  EXPECT_EQ(difference("a\nb\nc\n", "a\nx\ny\nc\n"), " a\n-b\n+x\n+y\n c\n");
  EXPECT_EQ(difference("a\n", "a\n"), "");
  EXPECT_EQ(difference("", "a\n"), "+a\n");
  EXPECT_EQ(difference("a\nb\n", "a\n\x1b[2J\n").find('\x1b'), std::string::npos);
}

TEST(GrantCorpus, ReplaysWithoutABreach) {
  const auto files = corpus_files("learn/corpus");
  EXPECT_GE(files.size(), 15U);
  for (const CorpusFile& file : files) EXPECT_TRUE(fuzz_target_holds(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx::learn
