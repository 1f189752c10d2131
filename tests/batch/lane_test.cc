// SPDX-License-Identifier: Apache-2.0
// Tests of batch/lane against a server that misbehaves (tests/capi/fake_server.py).
#include "lane.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace sbx::batch {
namespace {

void expect_given_up(const char* name) {
  const test::TempDir place;
  const std::string fake = place.path() + "/" + name;
  ASSERT_EQ(symlink(SBX_SOURCE_DIR "/tests/capi/fake_server.py", fake.c_str()), 0);
  Result<Lane> started = Lane::start(fake, {});
  ASSERT_TRUE(started.ok());
  Lane lane = std::move(started).value();
  lane.call(7, "run", "{}");
  std::optional<Answer> answer;
  while (!answer && lane.is_open()) {
    struct pollfd ready {
      lane.fd(), POLLIN, 0
    };
    ASSERT_EQ(poll(&ready, 1, 60'000), 1);
    lane.read();
    answer = lane.next();
  }
  EXPECT_FALSE(lane.is_open());
  ASSERT_TRUE(answer && answer->error);
  EXPECT_EQ(answer->call, 0U);  // of no call: whose it was is not known
  EXPECT_EQ(answer->error->code, ErrorCode::kSessionFailed);
}

TEST(Lane, GivesUpAServerWhoseAnswerCannotBeRead) { expect_given_up("unreadable"); }
TEST(Lane, GivesUpAServerWhoseAnswerIsOfNoCall) { expect_given_up("nameless"); }

}  // namespace
}  // namespace sbx::batch
