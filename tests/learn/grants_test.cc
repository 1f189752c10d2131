// SPDX-License-Identifier: Apache-2.0
// What a denial's grant does to a profile, and what none does.
#include "learn/grants.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <random>
#include <set>

#include "learn/never.h"
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

TEST(Grant, IsAddedWhereAPatternMayHideWhatIsShownAround) {
  constexpr auto kGrant = R"(filesystem.roots += [{"path": "/srv/d/x", "access": "ro"}])";
  const auto paths = [](const Document& profile) { return profile["filesystem"]["roots"].size(); };
  const char* const shown = R"({"filesystem":{"roots":[{"path":"/srv/d","access":"ro"}]}})";
  EXPECT_EQ(paths(added(kGrant, shown)), 1U);
  const char* const hidden = R"({"filesystem":{"roots":[{"path":"/srv/d","access":"ro"},
    {"path":"/srv/d/*","access":"none"}]}})";
  EXPECT_EQ(paths(added(kGrant, hidden)), 3U);
}

TEST(Grant, OfOneValueNeverLowersIt) {
  EXPECT_EQ(added("limits.tmp_mb = 2", R"({"limits":{"tmp_mb":4096}})").dump(),
            R"({"limits":{"tmp_mb":4096}})");
  EXPECT_EQ(added("limits.tmp_mb = 2", R"({"limits":{"tmp_mb":null}})").dump(),
            R"({"limits":{"tmp_mb":null}})");
  EXPECT_EQ(added("limits.tmp_mb = 16", R"({"limits":{"tmp_mb":8}})").dump(),
            R"({"limits":{"tmp_mb":16}})");
  EXPECT_EQ(added("network.mode = \"outbound\"", R"({"network":{"mode":"open"}})").dump(),
            R"({"network":{"mode":"open"}})");
  EXPECT_EQ(
      added("filesystem.git_config = \"none\"", R"({"filesystem":{"git_config":"user"}})").dump(),
      R"({"filesystem":{"git_config":"user"}})");
}

TEST(Grant, LacksWhatTheProfileGivesByWhatItExtends) {
  Profile profile;
  profile.limits.tmp_mb = 64;
  profile.network.mode = NetworkMode::kOutbound;
  profile.filesystem.roots = {{"/srv/a", Access::kReadWrite, false, ""},
                              {"${home}/b", Access::kReadOnly, false, ""},
                              {"/srv/a/n", Access::kNone, false, ""}};
  const auto left = [&](std::string_view text) {
    return lacking(parse_grant(text).value(), profile, "/home/ann").value.dump();
  };
  EXPECT_EQ(left("limits.tmp_mb = 64"), "[]");
  EXPECT_EQ(left("limits.tmp_mb = 65"), "65");
  EXPECT_EQ(left("limits.open_files = 1"), "[]");  // there is no limit
  EXPECT_EQ(left("network.mode = \"allowlist\""), "[]");
  EXPECT_EQ(left("network.mode = \"open\""), "\"open\"");
  for (const char* path : {"/srv/a", "/srv/a/f", "/home/ann/b/f"}) {
    EXPECT_EQ(
        left(R"(filesystem.roots += [{"path": ")" + std::string(path) + R"(", "access": "ro"}])"),
        "[]")
        << path;
  }
  for (const char* path : {"/srv/ab", "/srv/a/n/f", "/srv", "/home/ann/c"}) {
    EXPECT_NE(
        left(R"(filesystem.roots += [{"path": ")" + std::string(path) + R"(", "access": "ro"}])"),
        "[]")
        << path;
  }
  EXPECT_NE(left(R"(filesystem.roots += [{"path": "/home/ann/b", "access": "rw"}])"), "[]");
}

TEST(Grant, OfADirectoryForWritingTakesThePlaceOfWhatItCovers) {
  Document profile = Document::parse(R"({"filesystem": {"+roots": [
    {"path": "${home}/d/f", "access": "ro"}, {"path": "/home/ann/d/e", "access": "rw"},
    {"path": "/home/ann/de", "access": "ro"}, {"path": "/home/ann/d/n", "access": "none"},
    {"path": "/home/ann/d/n/x", "access": "ro"}, {"path": "/home/ann/d/*.k", "access": "ro"},
    {"path": "/home/ann/d/noexec", "access": "rw", "noexec": true}]}})");
  const Grant grant =
      parse_grant(R"(filesystem.roots += [{"path": "/home/ann/d", "access": "rw"}])").value();
  EXPECT_TRUE(add_grant(grant, profile, "/home/ann"));
  std::vector<std::string> paths;
  for (const Document& root : profile["filesystem"]["+roots"]) paths.push_back(root["path"]);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"/home/ann/de", "/home/ann/d/n", "/home/ann/d/n/x",
                                      "/home/ann/d/*.k", "/home/ann/d/noexec", "/home/ann/d"}));
  EXPECT_FALSE(add_grant(grant, profile, "/home/ann"));
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
  Guarded guarded{{"/home/ann"},
                  {},
                  {},
                  {"/home/ann/p/own.json", "/home/ann/.local/state/sbx"},
                  program_places("/usr/bin:relative::/:/home/ann/./tools//bin:/srv/x/bin/")};
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
  for (const char* path : {"/usr/lib",
                           "/libexec/x",
                           "/etc/hosts",
                           "/home/ann/p/own.json",
                           "/home/ann/p",
                           "/home/ann/.local",
                           "/srv/a/.git/hooks",
                           "/srv/a/.sbx",
                           "/home/ann/.bashrc",
                           "/home/ann/.config/git/config",
                           "/opt/x",
                           "/run",
                           "/run/systemd/system",
                           "/run/udev/rules.d",
                           "/run/sudo/ts",
                           "/run/user",
                           "/run/user/1000",
                           "/run/user/1000/systemd/user",
                           "/var",
                           "/var/cache/man",
                           "/var/mail/ann",
                           "/var/spool/cron",
                           "/var/lib/x",
                           "/var/tmp/..",
                           "/home/ann/bin",
                           "/home/ann/.pyenv",
                           "/home/ann/.pyenv/shims/x",
                           "/home/ann/.cargo/bin",
                           "/home/ann/tools/bin/x",
                           "/home/ann/tools",
                           "/srv/x",
                           "/srv/x/bin/y",
                           "/home/ann/.zlogout",
                           "/home/ann/.cshrc",
                           "/home/ann/.inputrc",
                           "/home/ann/.local/bin/x",
                           "/home/ann/.local/share/applications",
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
        "seccomp.allow += [\"socket\"]",
        "seccomp.allow += [\"socketpair\"]",
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
        "network.unix_sockets += [\"/run/user/1000/bus-1\"]",
        "network.unix_sockets += [\"/run/user/1000/busybus\"]",
        "network.unix_sockets += [\"/tmp/rt/bus_0\"]",
        "network.unix_sockets += [\"/run/user/1000/at-spi/bus_0\"]",
        "network.unix_sockets += [\"/tmp/dbus-Abc123\"]",
        "network.unix_sockets += [\"/run/libvirt/virtqemud-sock\"]",
        "network.unix_sockets += [\"/run/libvirt/libvirt-sock-ro\"]",
        "network.unix_sockets += [\"/srv/v/virtlogd-sock\"]",
        "network.unix_sockets += [\"/tmp/tmux-1000/default\"]",
        "network.unix_sockets += [\"/run/screen/S-ann/12.pts-0.host\"]",
        "network.unix_sockets += [\"/home/ann/.screen/12.pts-0.host\"]",
        "network.unix_sockets += [\"/run/user/1000/emacs/server\"]",
        "network.unix_sockets += [\"/tmp\"]",
        "filesystem.devices += [\"/dev/tty3\"]",
        "filesystem.devices += [\"/dev/ttyS0\"]",
        "filesystem.devices += [\"/dev/pts/0\"]",
        "filesystem.devices += [\"/dev/vcsa1\"]",
        "filesystem.devices += [\"/dev/input/event0\"]",
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

TEST(Never, IsADeviceOfTheMachineWhateverItIsCalled) {
  for (const auto& [type, minor] : {std::pair(1, 1),
                                    {1, 4},
                                    {1, 11},
                                    {4, 0},
                                    {4, 64},
                                    {5, 1},
                                    {7, 3},
                                    {13, 64},
                                    {10, 223},
                                    {21, 0},
                                    {136, 2},
                                    {140, 0},
                                    {202, 0}}) {
    EXPECT_NE(why_no_node(S_IFCHR, makedev(type, minor)), "") << type << ":" << minor;
  }
  for (const auto& [type, minor] : {std::pair(1, 3),
                                    {1, 5},
                                    {1, 7},
                                    {1, 8},
                                    {1, 9},
                                    {5, 0},
                                    {5, 2},
                                    {10, 229},
                                    {10, 232},
                                    {188, 0},
                                    {226, 128}}) {
    EXPECT_EQ(why_no_node(S_IFCHR, makedev(type, minor)), "") << type << ":" << minor;
  }
  EXPECT_NE(why_no_node(S_IFBLK, makedev(1, 3)), "");
  EXPECT_EQ(why_no_node(S_IFREG, 0), "");
  // Nor through a symlink.
  const std::string link = ::testing::TempDir() + "/sbx-never-" + std::to_string(getpid());
  ASSERT_EQ(symlink("/dev/kmsg", link.c_str()), 0);
  EXPECT_NE(why("filesystem.devices += [\"" + link + "\"]"), "");
  unlink(link.c_str());
}

TEST(Never, IsAHomeOfTheUsersWhereverItLies) {
  const Guarded guarded{{"/var/home/ann"}, {}, {}, {}, {}};
  const auto write = [&](const std::string& path) {
    return never_granted(
        parse_grant(R"(filesystem.roots += [{"path": ")" + path + R"(", "access": "rw"}])").value(),
        guarded);
  };
  EXPECT_EQ(write("/var/home/ann/x"), "");
  EXPECT_NE(write("/var/home/bob/x"), "");
}

TEST(Never, IsNothingOrdinary) {
  for (const char* text :
       {R"(filesystem.roots += [{"path": "/srv/data", "access": "rw"}])",
        R"(filesystem.roots += [{"path": "/home/ann/.cargo/bin", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "/home/ann/.bashrc", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "/srv/a\\*b/c", "access": "ro"}])",
        R"(network.unix_sockets += ["/run/user/1000/wayland-0"])",
        R"(network.unix_sockets += ["/srv/app/business.sock"])",
        R"(network.unix_sockets += ["/run/postgresql/.s.PGSQL.5432"])",
        R"(filesystem.devices += ["/dev/tty"])",
        R"(filesystem.devices += ["/dev/ptmx"])",
        R"(filesystem.devices += ["/dev/ttyUSB0"])",
        R"(filesystem.devices += ["/dev/null"])",
        R"(filesystem.roots += [{"path": "/var/tmp/x", "access": "rw"}])",
        R"(filesystem.roots += [{"path": "/run/user/1000/x", "access": "rw"}])",
        R"(filesystem.roots += [{"path": "/run/systemd/resolve", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "/home/ann/bin/x", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "/usr/local/share", "access": "ro"}])",
        R"(filesystem.roots += [{"path": "${workspace}/x", "access": "rw"}])",
        R"(network.allow += ["example.org:443"])",
        R"(network.host_ports += [8080])",
        R"(seccomp.allow += ["perf_event_open"])",
        R"(filesystem.devices += ["/dev/kvm"])",
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
