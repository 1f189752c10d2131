// SPDX-License-Identifier: Apache-2.0
// An approval is for exactly one request, once, for ten minutes.
#include "session/approvals.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "json/codec.h"
#include "policy/fields.h"
#include "profile/fields.h"
#include "session/approval_records.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Given {
  Policy policy;
  Request request;
  std::string cwd = "/work";
  guard::Judgement judgement;

  Given() {
    policy.sandbox.workspace = "/work";
    request.command = "rm -rf /data";
    judgement.findings = {
        {"destructive.rm-outside", Verdict::kAsk, "", {7, 12}, "rm", "/data", ""}};
  }
  std::string digest() const { return approval_digest(policy, request, cwd, judgement); }
};

TEST(ApprovalDigest, IsTheSameForTheSameRequest) {
  EXPECT_EQ(Given().digest(), Given().digest());
  EXPECT_EQ(Given().digest().size(), 64U);
}

TEST(ApprovalDigest, ChangesWithEverythingThatWasApproved) {
  const std::string digest = Given().digest();
  const auto differs = [&](auto change) {
    Given given;
    change(given);
    return given.digest() != digest;
  };
  EXPECT_TRUE(differs([](Given& g) { g.request.command = "rm -rf /data2"; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.argv = {"rm", "-rf", "/data"}; }));
  EXPECT_TRUE(differs([](Given& g) { g.cwd = "/"; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.env["A"] = "1"; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.stdin_text = ""; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.files.push_back({"a", "b", {}}); }));
  EXPECT_TRUE(differs([](Given& g) { g.request.network = true; }));
  EXPECT_TRUE(differs([](Given& g) { g.policy.run.name = "other"; }));
  EXPECT_TRUE(differs([](Given& g) {
    g.policy.sandbox.filesystem.roots.push_back({"/data", Access::kReadWrite, false, ""});
  }));
  EXPECT_TRUE(differs([](Given& g) { g.policy.sandbox.network.mode = NetworkMode::kOpen; }));
  EXPECT_TRUE(differs([](Given& g) { g.judgement.findings.front().id = "other"; }));
}

// Another value than the one that is there, whatever the row's kind.
void flip(const FieldSpec& row, void* object, json& now) {
  json document = json::object();
  switch (row.value.kind) {
    case Kind::kBool:
      document[row.name] = !(now.is_boolean() && now.get<bool>());
      break;
    case Kind::kCount:
    case Kind::kNumber:
      document[row.name] = now == row.value.max ? row.value.max - 1 : row.value.max;
      break;
    case Kind::kEnum:
      document[row.name] =
          now == row.value.names.back() ? row.value.names.front() : row.value.names.back();
      break;
    case Kind::kMap:
      document[row.name] = {{"FLIPPED", "1"}};
      break;
    case Kind::kList: {
      json item = "flipped";
      if (row.value.item->kind == Kind::kEnum) item = row.value.item->names.back();
      if (row.value.item->kind == Kind::kCount) item = 4711;
      if (row.value.item->kind == Kind::kObject) item = json::object();
      document[row.name] = json::array({item});
      break;
    }
    case Kind::kText:
    case Kind::kTextOrObject:
    case Kind::kTextOrList:
    case Kind::kObject:
      document[row.name] = "flipped";
      break;
  }
  const FieldSpec rows[] = {row};
  std::vector<Error> errors;
  decode_object(ObjectSpec{rows}, document, object, "", errors);
}

// Calls `check` with each leaf of the table flipped in turn, as a path.
template <typename Struct, typename Check>
void flip_each(const ObjectSpec& spec, Struct& base, void* object, const std::string& path,
               Check check) {
  for (const FieldSpec& row : spec.fields) {
    const std::string here = path + "/" + std::string(row.name);
    if (row.member.codec == nullptr) continue;
    if (row.value.kind == Kind::kObject) {
      flip_each(*row.value.object, base, row.member.of(object), here, check);
      continue;
    }
    if (row.member.codec->encode == nullptr) continue;  // the same member under another name
    const Struct before = base;
    ordered_json now;
    row.member.codec->encode(row.value, row.member.of(object), now);
    json value = now;
    flip(row, object, value);
    check(here, row.in_digest);
    base = before;
  }
}

TEST(ApprovalDigest, ChangesWithEachRowOfPolicyProfileAndRequest) {
  const std::string digest = Given().digest();
  Given given;
  int rows = 0;
  const auto check = [&](const std::string& path, bool in_digest) {
    ++rows;
    EXPECT_EQ(given.digest() != digest, in_digest) << path;
  };
  flip_each(kPolicySpec, given.policy, &given.policy, "policy", check);
  flip_each(kRequestSpec, given.request, &given.request, "request", check);
  EXPECT_GT(rows, 60);
}

void add_left_out(const ObjectSpec& spec, std::vector<std::string_view>& names) {
  for (const FieldSpec& row : spec.fields) {
    if (!row.in_digest) names.push_back(row.name);
    if (row.value.kind == Kind::kObject) add_left_out(*row.value.object, names);
  }
}

TEST(ApprovalDigest, LeavesOutOnlyWhatIsNoPartOfTheRun) {
  std::vector<std::string_view> left_out;
  for (const ObjectSpec* spec : {&kPolicySpec, &kRequestSpec}) add_left_out(*spec, left_out);
  EXPECT_EQ(left_out, (std::vector<std::string_view>{
                          "trace_denials", "timeout_ms", "output_lines", "file", "timeout_ms",
                          "output_lines", "output_bytes", "profile_sha256", "own_files", "managed",
                          "required_audit", "warnings", "cwd", "approval"}));
}

// A section or limit in neither part would be in no policy, and in no digest.
TEST(ApprovalDigest, CoversEachRowOfAProfileByOneOfItsParts) {
  const auto members = [](const ObjectSpec& spec) {
    return std::count_if(spec.fields.begin(), spec.fields.end(),
                         [](const FieldSpec& row) { return row.member.of != nullptr; });
  };
  // `limits` has parts itself; two of them count in bytes in a policy.
  EXPECT_EQ(members(kProfileSpec), members(kSandboxProfileSpec) + members(kRunProfileSpec) + 1);
  const auto limits = std::find_if(kProfileSpec.fields.begin(), kProfileSpec.fields.end(),
                                   [](const FieldSpec& row) { return row.name == "limits"; });
  ASSERT_NE(limits, kProfileSpec.fields.end());
  EXPECT_EQ(members(*limits->value.object),
            members(kSandboxLimitsSpec) + members(kRunLimitsSpec) + 2);
}

TEST(ApprovalDigest, TellsWhereOneValueEndsAndTheNextBegins) {
  Given one;
  one.request.argv = {"a", "bc"};
  Given two;
  two.request.argv = {"ab", "c"};
  EXPECT_NE(one.digest(), two.digest());
}

class ApprovalsTest : public testing::Test {
 protected:
  std::string stamp(const std::string& request = "x") {
    return stamp_approval(request, now_, ++nonce_);
  }
  bool take(const std::string& named, const std::string& request) {
    const Result<bool> taken = approvals_.take(named, request);
    return taken.ok() && taken.value();
  }

  Approvals::Clock::time_point now_{std::chrono::hours(24)};
  std::uint64_t nonce_ = 0;
  std::set<std::string> used_;
  Approvals approvals_{
      [this](const std::string& digest) -> Result<bool> { return used_.insert(digest).second; },
      [this] { return now_; }};
};

TEST_F(ApprovalsTest, AreGoodOnce) {
  const std::string digest = stamp();
  EXPECT_EQ(digest.size(), 64U);
  approvals_.grant(digest);
  EXPECT_FALSE(take("", "y"));
  EXPECT_TRUE(take("", "x"));
  EXPECT_FALSE(take("", "x"));
}

TEST_F(ApprovalsTest, AreGoodOnceEvenWhereTheyAreGrantedAgain) {
  const std::string digest = stamp();
  approvals_.grant(digest);
  EXPECT_TRUE(take(digest, "x"));
  approvals_.grant(digest);
  EXPECT_FALSE(take(digest, "x"));
  EXPECT_FALSE(take("", "x"));
}

TEST_F(ApprovalsTest, OfOneRequestAreEachTheirOwn) {
  const std::string one = stamp();
  const std::string two = stamp();
  EXPECT_NE(one, two);
  approvals_.grant(one);
  EXPECT_FALSE(take(two, "x"));
  approvals_.grant(two);
  EXPECT_TRUE(take("", "x"));
  EXPECT_TRUE(take("", "x"));
  EXPECT_FALSE(take("", "x"));
}

TEST_F(ApprovalsTest, AreForTheirOwnRequestTimeAndNonceOnly) {
  const std::string digest = stamp();
  for (std::size_t i = 0; i < digest.size(); ++i) {
    std::string other = digest;
    other[i] = other[i] == '0' ? '1' : '0';
    approvals_.grant(other);
    EXPECT_FALSE(take(other, "x")) << i;
  }
  for (const char* none : {"", "x", "0"}) {
    approvals_.grant(none);
    EXPECT_FALSE(take(none, "x"));
  }
}

TEST_F(ApprovalsTest, EndTenMinutesAfterTheyWereAskedFor) {
  const std::string digest = stamp();
  now_ += Approvals::kLifetime - std::chrono::seconds(1);
  approvals_.grant(digest);
  EXPECT_TRUE(take("", "x"));
  const std::string late = stamp();
  approvals_.grant(late);
  now_ += Approvals::kLifetime;
  EXPECT_FALSE(take("", "x"));
  approvals_.grant(late);
  EXPECT_FALSE(take("", "x"));
}

TEST_F(ApprovalsTest, FromTheFutureCountForNothing) {
  const auto now = now_;
  now_ += std::chrono::seconds(1);
  const std::string digest = stamp();
  now_ = now;
  approvals_.grant(digest);
  EXPECT_FALSE(take("", "x"));
}

TEST_F(ApprovalsTest, AreRefusedWhereTheirUseCannotBeRecorded) {
  Approvals approvals(
      [](const std::string&) -> Result<bool> {
        return Error{ErrorCode::kSetupFailed, "full", "", ""};
      },
      [this] { return now_; });
  approvals.grant(stamp());
  EXPECT_FALSE(approvals.take("", "x").ok());
}

TEST_F(ApprovalsTest, KeepABoundedNumber) {
  for (std::size_t i = 0; i <= Approvals::kMaxOpen; ++i) {
    now_ += std::chrono::milliseconds(1);
    approvals_.grant(stamp(std::to_string(i)));
  }
  EXPECT_FALSE(take("", "0"));
  EXPECT_TRUE(take("", "1"));
}

TEST_F(ApprovalsTest, KeepABoundedNumberOfQuestionsTheOldestOfWhichGo) {
  Question question{stamp(), {}, {}, "/", {}};
  for (std::size_t i = 0; i <= Approvals::kMostQuestions; ++i) {
    question.request.command = std::to_string(i);
    approvals_.note(question);
  }
  ASSERT_EQ(approvals_.questions().size(), Approvals::kMostQuestions);
  EXPECT_EQ(approvals_.questions().front().request.command, "1");
  question.request.stdin_text = std::string(Approvals::kMostQuestionBytes / 2, 'x');
  approvals_.note(question);
  approvals_.note(question);
  EXPECT_EQ(approvals_.questions().size(), 1U);
}

TEST_F(ApprovalsTest, ForgetQuestionsTenMinutesAfterTheyWereAsked) {
  approvals_.note({stamp(), {}, {}, "/", {}});
  now_ += Approvals::kLifetime - std::chrono::seconds(1);
  approvals_.note({stamp(), {}, {}, "/", {}});
  EXPECT_EQ(approvals_.questions().size(), 2U);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(approvals_.questions().size(), 1U);
  now_ += Approvals::kLifetime;
  EXPECT_TRUE(approvals_.questions().empty());
}

class ApprovalRecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "sbx-approvals-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    state_ = path;
    record_ = approval_record({{"XDG_STATE_HOME", state_}, {"HOME", "/"}});
  }
  void TearDown() override { std::filesystem::remove_all(state_); }

  std::string path() const { return state_ + "/sbx/approvals"; }
  static std::string stamp(std::chrono::hours ago = {}) {
    return stamp_approval("x", Approvals::Clock::now() - ago, approval_nonce().value());
  }

  std::string state_;
  Approvals::Record record_;
};

TEST_F(ApprovalRecordsTest, CountOnceInAllProcesses) {
  const std::string digest = stamp();
  EXPECT_TRUE(record_(digest).value());
  EXPECT_FALSE(record_(digest).value());
  EXPECT_FALSE(approval_record({{"XDG_STATE_HOME", state_}})(digest).value());
  EXPECT_TRUE(record_(stamp()).value());
}

TEST_F(ApprovalRecordsTest, LieBelowTheHomeWhereNoStateDirectoryIsNamed) {
  const std::string digest = stamp();
  const std::string file = state_ + "/.local/state/sbx/approvals/" + digest;
  for (const char* unset : {"", "relative"}) {
    EXPECT_TRUE(approval_record({{"XDG_STATE_HOME", unset}, {"HOME", state_}})(digest).value());
    EXPECT_EQ(access(file.c_str(), F_OK), 0);
    unlink(file.c_str());
  }
}

TEST_F(ApprovalRecordsTest, AreRemovedOnceTheyAreADayOld) {
  const std::string young = stamp(std::chrono::hours(23));
  const std::string old = stamp(std::chrono::hours(24));
  EXPECT_TRUE(record_(young).value());
  EXPECT_TRUE(record_(old).value());
  EXPECT_TRUE(record_(stamp()).value());
  EXPECT_EQ(access((path() + "/" + young).c_str(), F_OK), 0);
  EXPECT_NE(access((path() + "/" + old).c_str(), F_OK), 0);
}

TEST_F(ApprovalRecordsTest, AloneAreRemoved) {
  ASSERT_TRUE(record_(stamp()).ok());
  const std::string other = path() + "/" + std::string(16, '0');  // as a time, of long ago
  std::ofstream(other + "-notes") << "x";
  std::ofstream(other + std::string(47, 'x')) << "x";
  EXPECT_TRUE(record_(stamp()).value());
  EXPECT_EQ(access((other + "-notes").c_str(), F_OK), 0);
  EXPECT_EQ(access((other + std::string(47, 'x')).c_str(), F_OK), 0);
}

TEST_F(ApprovalRecordsTest, AreABoundedNumber) {
  ASSERT_TRUE(record_(stamp()).ok());
  for (int i = 1; i < 4096; ++i) std::ofstream(path() + "/" + stamp()).flush();
  const Result<bool> refused = record_(stamp());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where, path());
}

TEST_F(ApprovalRecordsTest, AreRefusedWhereTheDirectoryIsASymlinkOrOthersMayWriteInIt) {
  ASSERT_TRUE(record_(stamp()).ok());
  ASSERT_EQ(chmod(path().c_str(), 0777), 0);
  EXPECT_FALSE(record_(stamp()).ok());
  ASSERT_EQ(rename(path().c_str(), (path() + "2").c_str()), 0);
  ASSERT_EQ(chmod((path() + "2").c_str(), 0700), 0);
  ASSERT_EQ(symlink("approvals2", path().c_str()), 0);
  EXPECT_FALSE(record_(stamp()).ok());
}

}  // namespace
}  // namespace sbx
