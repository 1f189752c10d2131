// SPDX-License-Identifier: Apache-2.0
// An approval is for exactly one request, once, for ten minutes.
#include "session/approvals.h"

#include <gtest/gtest.h>

#include "json/codec.h"
#include "policy/fields.h"
#include "profile/fields.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Given {
  Policy policy;
  Request request;
  std::string cwd = "/work";
  Judgement judgement;

  Given() {
    policy.workspace = "/work";
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
  EXPECT_TRUE(differs([](Given& g) { g.policy.profile.name = "other"; }));
  EXPECT_TRUE(differs([](Given& g) {
    g.policy.profile.filesystem.roots.push_back({"/data", Access::kReadWrite, false, ""});
  }));
  EXPECT_TRUE(differs([](Given& g) { g.policy.profile.network.mode = NetworkMode::kOpen; }));
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

TEST(ApprovalDigest, LeavesOutOnlyWhatIsNoPartOfTheRun) {
  std::vector<std::string_view> left_out;
  for (const ObjectSpec* spec : {&kPolicySpec, &kRequestSpec, &kProfileSpec}) {
    for (const FieldSpec& row : spec->fields) {
      if (!row.in_digest) left_out.push_back(row.name);
    }
  }
  EXPECT_EQ(left_out,
            (std::vector<std::string_view>{"profile_sha256", "own_files", "warnings", "approval"}));
}

TEST(ApprovalDigest, TellsWhereOneValueEndsAndTheNextBegins) {
  Given one;
  one.request.argv = {"a", "bc"};
  Given two;
  two.request.argv = {"ab", "c"};
  EXPECT_NE(one.digest(), two.digest());
}

TEST(Approvals, AreGoodOnce) {
  Approvals approvals;
  approvals.grant("x");
  EXPECT_FALSE(approvals.take("y"));
  EXPECT_TRUE(approvals.take("x"));
  EXPECT_FALSE(approvals.take("x"));
}

TEST(Approvals, EndAfterTenMinutes) {
  Approvals::Clock::time_point now{};
  Approvals approvals([&] { return now; });
  approvals.grant("x");
  now += Approvals::kLifetime - std::chrono::seconds(1);
  EXPECT_TRUE(approvals.take("x"));
  approvals.grant("x");
  now += Approvals::kLifetime;
  EXPECT_FALSE(approvals.take("x"));
}

TEST(Approvals, KeepABoundedNumber) {
  Approvals::Clock::time_point now{};
  Approvals approvals([&] { return now; });
  for (std::size_t i = 0; i <= Approvals::kMaxOpen; ++i) {
    now += std::chrono::milliseconds(1);
    approvals.grant(std::to_string(i));
  }
  EXPECT_FALSE(approvals.take("0"));
  EXPECT_TRUE(approvals.take("1"));
}

}  // namespace
}  // namespace sbx
